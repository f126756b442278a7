/** The soak runs at all, and what it would say: what grows, and what is in no count. Nothing is said about time. */
import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Counts } from '../../bench/harness/health-counts.ts';
import { problemsOf, type Sample } from '../../bench/soak/verdict.ts';
import { withBuild } from '../support/build.ts';

const MEGABYTE = 1024 * 1024;

function counts(tokens: number, more: Partial<Counts> = {}): Counts {
  return { tokens, stored: tokens, waiting: 0, running: 0, dropped: {}, leftOut: {}, ...more };
}

/** Eight rounds; `grown` is what each has more than the one before. */
function rounds(
  grown: Partial<Record<'rssBytes' | 'heapBytes' | 'handles' | 'descriptors', number>>,
): Sample[] {
  return Array.from({ length: 8 }, (_, round) => ({
    rssBytes: 150 * MEGABYTE + round * (grown.rssBytes ?? 0),
    heapBytes: 25 * MEGABYTE + round * (grown.heapBytes ?? 0),
    handles: 5 + round * (grown.handles ?? 0),
    descriptors: 34 + round * (grown.descriptors ?? 0),
    application: counts(1000 * (round + 1)),
    profiler: counts(10 * (round + 1)),
  }));
}

describe('the verdict of a soak', () => {
  it('finds nothing where figures only vary', () => {
    const samples = rounds({});
    samples.forEach((sample, round) => {
      sample.heapBytes += ((round * 7) % 3) * MEGABYTE;
      sample.handles += round % 2;
    });
    expect(problemsOf(samples)).to.deep.equal([]);
  });

  it('names what grows from round to round', () => {
    expect(problemsOf(rounds({ heapBytes: 3 * MEGABYTE }))).to.deep.equal([
      'Grows: the heap, from 33 to 45 MB.',
    ]);
    expect(problemsOf(rounds({ rssBytes: 12 * MEGABYTE })).join()).to.include('Grows: RSS');
    expect(problemsOf(rounds({ handles: 2 })).join()).to.include('Grows: the number of handles');
    expect(problemsOf(rounds({ descriptors: 2 })).join()).to.include('Grows: the number of file descriptors');
  });

  it('takes the first quarter for warming up', () => {
    const samples = rounds({});
    for (const sample of samples.slice(2)) sample.heapBytes += 60 * MEGABYTE;
    expect(problemsOf(samples)).to.deep.equal([]);
  });

  it('says which tokens are in no count, and takes dropped ones as counted', () => {
    const samples = rounds({});
    for (const sample of samples.slice(3, 5))
      sample.application = counts(5000, { stored: 4990, dropped: { 'queue full': 10 } });
    expect(problemsOf(samples)).to.deep.equal([]);
    for (const sample of samples.slice(4, 5)) sample.profiler = counts(50, { stored: 47, waiting: 1 });
    expect(problemsOf(samples)).to.deep.equal(['Round 5: 2 of 50 tokens (profiler) are in no count.']);
  });
});

describe('npm run soak', () => {
  withBuild();
  before(function () {
    if (!existsSync('/proc/self/fd')) this.skip();
  });

  it('asks, floods, and finds every token that was given', async () => {
    const given = ['--minutes=0.1', '--round=2', '--flood=0.4', '--connections=20', '--rate=20'];
    // Not synchronously: it asks the process that runs the tests for a server. Rejects if it ends with anything but 0.
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--import',
      'tsx',
      'bench/soak.ts',
      ...given,
    ]);
    const rows = stdout.split('\n').filter((line) => /^\| \d/.test(line));
    expect(rows).to.have.length(3);
    const cells =
      rows
        .at(-1)
        ?.split('|')
        .map((cell) => cell.trim()) ?? [];
    const [asked, tokens, stored] = [cells[3], cells[14], cells[15]];
    expect(Number(asked), 'pages of the last flood').to.be.greaterThan(0);
    expect(Number.parseFloat(cells[5] ?? ''), 'milliseconds of others').to.be.greaterThan(0);
    expect(Number(tokens)).to.be.greaterThan(50);
    expect(stored).to.equal(tokens);
    expect(stdout)
      .to.match(/\d+ tokens given, 0 of them not stored/)
      .and.include('all counts add up');
  });
});
