/** The stacks of a host are the same with and without the profiler: no frame of ours, and none pushed out. */
import { expect } from 'chai';
import { execFileSync } from 'node:child_process';
import { hideProfilerFrames } from '../../app/observe/profiler-frames.ts';
import type { HostStacks } from '../support/host-stacks.ts';

/** What lies outside of the routers: the profiler is mounted there, as any middleware is. */
function inside(frames: readonly string[]): string[] {
  const end = frames.findIndex((frame) =>
    /app[\\/](?:middleware|profiler|compose)[\\/]|Server\.emit/.test(frame),
  );
  return end === -1 ? [...frames] : frames.slice(0, end);
}

describe('the stacks of a host', () => {
  let stacks: HostStacks;

  before(() => {
    const output = execFileSync(
      process.execPath,
      ['--import', 'tsx', '--enable-source-maps', 'test/support/host-stacks.ts'],
      {
        env: { PATH: process.env.PATH, NODE_ENV: 'test' },
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    );
    stacks = JSON.parse(output.toString()) as HostStacks;
  });

  for (const version of ['5', '4'] as const) {
    it(`are the same with the profiler, line by line: Express ${version}`, () => {
      const { bare, watched } = stacks[version][10];
      expect(Object.keys(watched)).to.deep.equal(Object.keys(bare)).and.to.have.length.greaterThan(5);
      for (const [place, frames] of Object.entries(bare))
        if (!place.includes('a body')) expect(watched[place], place).to.deep.equal(frames);
    });

    it(`hold one frame of Node.js more behind a body parser, and none of ours: Express ${version}`, () => {
      for (const place of ['caught behind a body parser', 'seen in a handler of a request with a body']) {
        const { bare, watched } = stacks[version][100];
        const added = watched[place]?.findIndex((frame, index) => frame !== bare[place]?.[index]) ?? -1;
        expect(watched[place]?.[added], place).to.match(/^ +at AsyncLocalStorage\.run \(node:/);
        expect(watched[place]?.toSpliced(added, 1), place).to.deep.equal(bare[place]);
        expect(stacks[version][10].watched[place], place).to.have.length(10);
      }
    });

    it(`hold no frame of ours up to the middleware that mounts it, and none at all once the error came by: Express ${version}`, () => {
      const { bare, watched } = stacks[version][100];
      const all = inside(watched['seen in a handler'] ?? []);
      expect(all.length).to.be.greaterThan(20);
      expect(bare['seen in a handler']?.slice(0, all.length)).to.deep.equal(all);
      for (const place of ['thrown', 'passed', 'Unexpected end of JSON input'])
        expect(
          watched[place]?.filter(
            (frame) => /app[\\/](?!node_modules)/.test(frame) && !frame.includes('node_modules'),
          ),
          place,
        ).to.deep.equal([]);
    });
  }

  it('lose the frame of register, which stands below what is loaded', () => {
    const frames = [
      '    at Object.<anonymous> (/host/csrf.js:1:1)',
      '    at require (node:internal/helpers:182:18)',
    ];
    const ours = `    at Function._load (${process.cwd()}/app/register.ts:11:67)`;
    const error = Object.assign(new Error('invalid'), {
      stack: ['Error: invalid', frames[0], ours, frames[1]].join('\n'),
    });
    hideProfilerFrames(error);
    expect(error.stack).to.equal(['Error: invalid', ...frames].join('\n'));
  });
});
