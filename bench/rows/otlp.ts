/**
 * What sending costs a request, without what recording costs: Hindsight with live OTLP against Hindsight without, both storing in PostgreSQL, beside
 * dd-trace with its exporter against dd-trace that records and formats its spans, but hands them to nobody. All in turns, CPU of all threads.
 */
import type { Bench } from '../harness/bench.ts';
import type { Figure } from '../harness/figure.ts';
import { addedOf, compareInTurns, type Pair, type Slice } from '../harness/pairs.ts';
import type { MeasuredProcess } from '../harness/process.ts';
import type { Row } from '../harness/row.ts';
import { urlOf } from '../harness/database.ts';

const cpuAll = (slice: Slice): number => slice.cpuAll;
const cpuMain = (slice: Slice): number => slice.cpuMain;

/** Slices of one process, against those of another in the same rounds. */
function between(without: readonly Pair[], sending: readonly Pair[]): Pair[] {
  return without.flatMap(({ variant: base }, round) => {
    const slice = sending[round];
    return slice === undefined ? [] : [{ base, variant: slice.variant }];
  });
}

async function startAll(bench: Bench, queries: boolean): Promise<MeasuredProcess[]> {
  const databaseUrl = urlOf((await bench.database()).connection);
  const otlpEndpoint = (await bench.collector()).address;
  return [
    await bench.serve('bare', { queries }),
    await bench.serve('hindsight', { queries, profilerOptions: { databaseUrl } }),
    await bench.serve('hindsight', { queries, profilerOptions: { databaseUrl, otlp: true, otlpEndpoint } }),
    await bench.serve('dd-trace', { queries, sendsNothing: true }),
    await bench.serve('dd-trace', { queries }),
  ];
}

function added(what: string, pairs: readonly Pair[]): { figures: Figure[]; median: number } {
  const [all, main] = [addedOf(pairs, cpuAll), addedOf(pairs, cpuMain)];
  return {
    figures: [
      { goal: null, what: `${what}, CPU added`, value: all.median, spread: all, unit: 'µs' },
      { goal: null, what: `${what}, on the main thread`, value: main.median, spread: main, unit: 'µs' },
    ],
    median: all.median,
  };
}

async function measure(bench: Bench, path: string, label: string): Promise<Figure[]> {
  const { pairs, sliceMs, warmUp } = bench.options;
  const collector = await bench.collector();
  const running = await startAll(bench, path !== '/');
  try {
    const [base, ...others] = running;
    if (base === undefined) return [];
    const found = await compareInTurns(base, others, { path, pairs, sliceMs, warmUp });
    for (const sender of ['/v1/traces', '/v0.'])
      if (collector.bytes(sender) === 0) throw new Error(`Nothing was sent to ${sender}.`);
    const [plain = [], exporting = [], silent = [], sending = []] = found;
    const hindsight = added(`${label}: live OTLP`, between(plain, exporting));
    const datadog = added(`${label}: dd-trace’s exporter`, between(silent, sending));
    return [
      ...hindsight.figures,
      ...datadog.figures,
      {
        goal: null,
        what: `${label}: live OTLP, against dd-trace’s exporter`,
        value: hindsight.median / datadog.median,
        unit: 'x',
        must: 1,
      },
    ];
  } finally {
    for (const server of running) await server.stop();
  }
}

export const otlp: Row = {
  name: 'otlp',
  what: 'CPU of sending what was recorded: live OTLP, and dd-trace’s exporter',
  async run(bench) {
    return [...(await measure(bench, '/', '(c)')), ...(await measure(bench, '/db', '(d)'))];
  },
};
