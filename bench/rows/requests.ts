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

function spread(goal: number | null, what: string, unit: string, found: Spread): Figure {
  return { goal, what, value: found.median, unit, spread: found };
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
  return [spread(null, `${page.label}: A/A control, CPU`, 'x bare', ratio)];
}

interface Measured {
  figures: Figure[];
  addedAll: number;
  addedMain: number;
  throughput: Spread;
}

function figuresOf(page: Page, variant: Variant, pairs: readonly Pair[]): Measured {
  const name = `${page.label}: ${variant}`;
  const [all, main] = [addedOf(pairs, cpuAll), addedOf(pairs, cpuMain)];
  const throughput = ratioOf(pairs, perSecond);
  return {
    figures: [
      spread(null, `${name}, CPU`, 'x bare', ratioOf(pairs, cpuAll)),
      spread(null, `${name}, CPU added`, 'µs', all),
      spread(null, `${name}, CPU added on the main thread`, 'µs', main),
      spread(null, `${name}, requests per second`, 'x bare', throughput),
    ],
    addedAll: all.median,
    addedMain: main.median,
    throughput,
  };
}

type Goals = (hindsight: Measured, datadog: Measured) => Figure[];

async function compareAll(bench: Bench, page: Page, goals: Goals): Promise<Figure[]> {
  const figures = await control(bench, page);
  const pairs = await compare(bench, [{ variant: 'hindsight' }, { variant: 'dd-trace' }], page);
  const hindsight = figuresOf(page, 'hindsight', pairs[0] ?? []);
  const datadog = figuresOf(page, 'dd-trace', pairs[1] ?? []);
  return [...figures, ...hindsight.figures, ...datadog.figures, ...goals(hindsight, datadog)];
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
  run: (bench) =>
    compareAll(bench, { path: '/', queries: false, label: '(c)' }, (hindsight, datadog) => [
      {
        goal: 1,
        what: '(c): CPU added, against dd-trace',
        value: hindsight.addedAll / datadog.addedAll,
        unit: 'x',
        must: 0.4,
        aim: 0.3,
      },
      {
        goal: 2,
        what: '(c): CPU added on the main thread, against dd-trace',
        value: hindsight.addedMain / datadog.addedMain,
        unit: 'x',
        must: 0.4,
        aim: 0.3,
      },
      {
        ...spread(4, '(c): requests per second, against bare', 'x', hindsight.throughput),
        must: 0.62,
        aim: 0.72,
        atLeast: true,
      },
    ]),
};

export const queries: Row = {
  name: 'queries',
  what: 'CPU on the page of five queries, against dd-trace',
  run: (bench) =>
    compareAll(bench, { path: '/db', queries: true, label: '(d)' }, (hindsight, datadog) => [
      {
        goal: 3,
        what: '(d): CPU added, against dd-trace',
        value: hindsight.addedAll / datadog.addedAll,
        unit: 'x',
        must: 0.35,
        aim: 0.25,
      },
    ]),
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
        spread(null, `(c), ${what}: CPU`, 'x bare', ratioOf(pairs, cpuAll)),
        spread(null, `(c), ${what}: CPU added`, 'µs', addedOf(pairs, cpuAll)),
      ];
    },
  };
}

export const summaries = kindRow('summaries', 'only a summary is recorded', 0);
export const full = kindRow('full', 'everything is recorded', 'unlimited');
