/** The stacks of a host: a layer has one frame of ours, which our pages hide, and no frame of the application is pushed out. */
import { expect } from 'chai';
import { execFileSync } from 'node:child_process';
import { withoutProfilerFrames } from '../../app/observe/stacks/profiler-frames.ts';
import type { HostStacks } from '../support/host-stacks.ts';

const HOST = 'test/support/host-stacks.ts';
const ours = (frames: readonly string[]): string[] =>
  frames.filter((frame) =>
    /[\\/]app[\\/](?:observe|middleware|profiler|compose|controllers)[\\/]/.test(frame),
  );
/** Frames of the application, without columns. */
const application = (frames: readonly string[]): string[] => frames.filter((frame) => frame.includes(HOST));

describe('the stacks of a host', () => {
  let stacks: HostStacks;

  before(() => {
    const output = execFileSync(process.execPath, ['--import', 'tsx', '--enable-source-maps', HOST], {
      env: { PATH: process.env.PATH, NODE_ENV: 'test' },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    stacks = JSON.parse(output.toString()) as HostStacks;
  });

  for (const version of ['5', '4'] as const) {
    it(`have all frames of the application: Express ${version}`, () => {
      const { bare, watched } = stacks[version];
      expect(Object.keys(watched)).to.deep.equal(Object.keys(bare)).and.to.have.length.greaterThan(5);
      for (const [place, frames] of Object.entries(bare))
        expect(application(watched[place] ?? []).slice(0, application(frames).length), place).to.deep.equal(
          application(frames),
        );
    });

    it(`have one frame for each layer, which says whose it is: Express ${version}`, () => {
      const frames = stacks[version].watched['seen in a handler'] ?? [];
      // The profiler itself is mounted as a middleware, which is further out.
      const mount = frames.findIndex((frame) => /app[\\/](?:middleware|compose)[\\/]/.test(frame));
      const inside = frames.slice(0, mount === -1 ? undefined : mount);
      const own = ours(inside).filter((frame) => !frame.includes('hindsightLayer'));
      expect(own).to.deep.equal([]);
      const at = inside.flatMap((frame, index) => (frame.includes('hindsightLayer') ? [index] : []));
      // Of the handler, its route and two routers; between them are frames of the router.
      expect(at).to.have.length.within(4, 5);
      expect(at.every((index, nth) => nth === 0 || index > (at[nth - 1] ?? 0) + 1)).to.equal(true);
    });

    it(`are shown without them: Express ${version}`, () => {
      for (const [place, frames] of Object.entries(stacks[version].watched)) {
        const shown = withoutProfilerFrames(['Error: it', ...frames].join('\n')).split('\n');
        const [, first = ''] = shown;
        expect(first, place).to.equal(frames[0]);
        expect(ours(shown), place).to.deep.equal([]);
        expect(application(shown), place).to.deep.equal(application(frames));
      }
    });
  }

  it('are shown without the frame of register, which stands below what is loaded', () => {
    const frames = [
      '    at Object.<anonymous> (/host/csrf.js:1:1)',
      '    at require (node:internal/helpers:182:18)',
    ];
    const own = `    at Function._load (${process.cwd()}/app/register.ts:11:67)`;
    expect(withoutProfilerFrames(['Error: invalid', frames[0], own, frames[1]].join('\n'))).to.equal(
      ['Error: invalid', ...frames].join('\n'),
    );
  });
});
