/**
 * What recording costs a request at saturation: the plain page (c) and the page of five queries (d), each variant against
 * the same fresh bare process, in turns. The first comparison is bare with bare: off by more than 5 %, the run is void.
 */
import type { Bench, ServeOptions } from '../harness/bench.ts';
import type { Figure } from '../harness/figure.ts';
import { addedOf, compareInTurns, ratioOf, type Pair, type Slice } from '../harness/pairs.ts';
import type { Variant } from '../harness/peers.ts';
import type { MeasuredProcess } from '../harness/process.ts';
import { VoidRun, type Row } from '../harness/row.ts';
import type { Spread } from '../harness/statistics.ts';

interface Page {
  path: string;
  queries: boolean;
  label: string;
}

const CONTROL_LIMIT = 0.05;
const cpuAll = (slice: Slice): number => slice.cpuAll;
const cpuMain = (slice: Slice): number => slice.cpuMain;
const perSecond = (slice: Slice): number => slice.perSecond;

interface Measuring {
  variant: Variant;
  profilerOptions?: NonNullable<ServeOptions['profilerOptions']>;
}

/** Pairs of each, all measured in turns with one bare process: what the machine does meanwhile meets all of them. */
async function compare(
  bench: Bench,
  measured: readonly Measuring[],
  { path, queries }: Page,
  pairs = bench.options.pairs,
): Promise<Pair[][]> {
  const { sliceMs, warmUp } = bench.options;
  const running: MeasuredProcess[] = [];
  try {
    const base = await bench.serve('bare', { queries });
    running.push(base);
    for (const { variant, ...more } of measured)
      running.push(await bench.serve(variant, { queries, ...more }));
    const found = await compareInTurns(base, running.slice(1), { path, pairs, sliceMs, warmUp });
    const errors = found.flat().reduce((sum, pair) => sum + pair.base.errors + pair.variant.errors, 0);
    if (errors > 0) bench.log(`  ${errors} answers were no 200`);
    return found;
  } finally {
    for (const server of running) await server.stop();
  }
}

async function bareAgainstBare(bench: Bench, page: Page): Promise<Spread> {
  const [pairs = []] = await compare(bench, [{ variant: 'bare' }], page);
  return ratioOf(pairs, cpuAll);
}

/** A second try is given: one burst of other work on the machine is no reason to lose a run of minutes. */
async function control(bench: Bench, page: Page): Promise<Figure[]> {
  let ratio = await bareAgainstBare(bench, page);
  const isOff = (): boolean => Math.abs(ratio.median - 1) > CONTROL_LIMIT;
  if (isOff()) ratio = await bareAgainstBare(bench, page);
  if (isOff() && !bench.options.anyway)
    throw new VoidRun(`bare against bare differs on ${page.label}: ${ratio.median.toFixed(3)}`);
  return [{ what: `${page.label}: A/A control, CPU`, unit: 'x bare', spread: ratio }];
}

function figuresOf(page: Page, variant: Variant, pairs: readonly Pair[]): Figure[] {
  const name = `${page.label}: ${variant}`;
  return [
    { what: `${name}, CPU`, unit: 'x bare', spread: ratioOf(pairs, cpuAll) },
    { what: `${name}, CPU added`, unit: 'µs', spread: addedOf(pairs, cpuAll) },
    { what: `${name}, CPU added on the main thread`, unit: 'µs', spread: addedOf(pairs, cpuMain) },
    { what: `${name}, requests per second`, unit: 'x bare', spread: ratioOf(pairs, perSecond) },
  ];
}

async function compareAll(bench: Bench, page: Page): Promise<Figure[]> {
  const figures = await control(bench, page);
  const [hindsight = [], peer = []] = await compare(
    bench,
    [{ variant: 'hindsight' }, { variant: 'dd-trace' }],
    page,
  );
  return [...figures, ...figuresOf(page, 'hindsight', hindsight), ...figuresOf(page, 'dd-trace', peer)];
}

/** Bare against bare only: whether the machine is quiet enough to measure on. */
export const controlOnly: Row = {
  name: 'control',
  what: 'bare against bare on the plain page',
  run: (bench) => control(bench, { path: '/', queries: false, label: '(c)' }),
};

export const plain: Row = {
  name: 'plain',
  what: 'CPU and throughput on the plain page, against dd-trace',
  run: (bench) => compareAll(bench, { path: '/', queries: false, label: '(c)' }),
};

export const queries: Row = {
  name: 'queries',
  what: 'CPU on the page of five queries, against dd-trace',
  run: (bench) => compareAll(bench, { path: '/db', queries: true, label: '(d)' }),
};

/** CPU of one kind of recording for all requests, against bare. */
function kindRow(name: string, what: string, fullPerSecond: number | 'unlimited'): Row {
  return {
    name,
    what: `CPU of a request of which ${what}, against bare`,
    async run(bench) {
      const page = { path: '/', queries: false, label: '(c)' };
      const [pairs = []] = await compare(
        bench,
        [{ variant: 'hindsight', profilerOptions: { fullPerSecond } }],
        page,
      );
      return [
        { what: `(c), ${what}: CPU`, unit: 'x bare', spread: ratioOf(pairs, cpuAll) },
        { what: `(c), ${what}: CPU added`, unit: 'µs', spread: addedOf(pairs, cpuAll) },
      ];
    },
  };
}

export const summaries = kindRow('summaries', 'only a summary is recorded', 0);
export const full = kindRow('full', 'everything is recorded', 'unlimited');
