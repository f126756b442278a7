/** What an application loads with the package: it pays for that at each start, also where nobody looks at a page. */
import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { withBuild } from '../support/build.ts';

const script = `
const { default: express } = await import('express');
const { hindsight } = await import('./dist/app/index.js');
hindsight(express());
console.log(JSON.stringify(process.moduleLoadList));
`;

describe('an application that starts', () => {
  withBuild();

  it("does not load Node's fetch, which costs more than the package", async () => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '--eval', script],
      { env: { PATH: process.env.PATH ?? '', PROFILER: 'on' } },
    );
    const loaded = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as string[];
    expect(loaded).to.include('NativeModule http');
    expect(loaded).not.to.include('NativeModule internal/deps/undici/undici');
  });
});
