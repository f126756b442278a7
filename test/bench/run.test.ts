/** The benchmark measures at all: real processes, real load, the kernel's accounting. Nothing is said about time. */
import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Figure } from '../../bench/harness/figure.ts';
import { chosenRows } from '../../bench/rows/index.ts';

interface Report {
  outcomes: { row: string; figures: Figure[]; problem: string | null }[];
}

/** Not synchronously: it asks the process that runs the tests for a server. Rejects if it fails. */
async function bench(...given: string[]): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [
    '--import',
    'tsx',
    'bench/run.ts',
    ...given,
  ]);
  return stdout + stderr;
}

describe('npm run bench', () => {
  before(function () {
    if (!existsSync('/proc/self/stat')) this.skip();
  });

  it('compares two processes of the bare application and writes what it found', async () => {
    const output = await bench('control', '--anyway', '--pairs=2', '--slice=150', '--warm-up=100');
    const file = output.split('\n').find((line) => line.endsWith('.json')) ?? '';
    const { outcomes } = JSON.parse(readFileSync(file, 'utf8')) as Report;
    rmSync(file);
    expect(outcomes).to.have.length(1);
    expect(outcomes[0]).to.include({ row: 'control', problem: null });
    const [ratio] = outcomes[0]?.figures ?? [];
    expect(ratio?.value).to.be.greaterThan(0.05).and.lessThan(20);
    expect(output).to.include('A/A control').and.not.include('were no 200');
  });

  it('names the rows there are when asked for another', () => {
    expect(() => chosenRows(['nonsense'])).to.throw('No row "nonsense"; there are: plain, queries');
    expect(chosenRows(['hosts', 'plain']).map(({ name }) => name)).to.deep.equal(['plain', 'hosts']);
    expect(chosenRows([]).map(({ name }) => name))
      .to.include('plain')
      .and.not.include('hosts');
  });
});
