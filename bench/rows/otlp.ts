/**
 * What sending costs a request, without what recording costs: live OTLP, from a thread of its own, which is the dearer of its two ways, beside
 * dd-trace's exporter. Each is switched on and off in one process, because two processes of one program differ by more than that; what
 * is switched off hands its formatted spans to nobody.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, ServeOptions } from '../harness/bench.ts';
import type { Collector } from '../harness/collector.ts';
import type { CpuTime } from '../harness/cpu.ts';
import type { Figure } from '../harness/figure.ts';
import { closedLoop } from '../harness/load.ts';
import type { Variant } from '../harness/peers.ts';
import type { MeasuredProcess } from '../harness/process.ts';
import type { Row } from '../harness/row.ts';
import { spreadOf } from '../harness/statistics.ts';

/** Milliseconds until what a slice recorded has been sent: the exporters wait for up to one and two seconds. */
const SENT_AFTER_MS = 2500;

interface Page {
  path: string;
  label: string;
}

/** Per request, without what is sent when nothing is measured. */
interface Sent {
  spans: number;
  bytes: number;
}

/** What the exporter sends of a page: beside CPU it must be told, because who sends less works less. */
async function sentOf(
  server: MeasuredProcess,
  path: string,
  { collector, ms }: { collector: Collector; ms: number },
): Promise<Sent> {
  collector.spans.areCounted = true;
  const before = { spans: collector.spans.count, bytes: collector.bytes('/v') };
  const { requests } = await closedLoop({ port: server.port, path }, { ms });
  await sleep(SENT_AFTER_MS);
  collector.spans.areCounted = false;
  return {
    spans: (collector.spans.count - before.spans) / requests,
    bytes: (collector.bytes('/v') - before.bytes) / requests,
  };
}

/** Microseconds per request, with what is sent afterwards. */
async function slice(server: MeasuredProcess, path: string, ms: number): Promise<CpuTime> {
  const before = server.cpu();
  const { requests } = await closedLoop({ port: server.port, path }, { ms });
  await sleep(SENT_AFTER_MS);
  const after = server.cpu();
  return { all: (after.all - before.all) / requests, main: (after.main - before.main) / requests };
}

/** The difference of each pair of slices. */
async function addedBySending(
  bench: Bench,
  variant: Variant,
  { path }: Page,
  more: ServeOptions,
): Promise<{ added: CpuTime[]; sent: Sent }> {
  const { pairs, sliceMs, warmUp } = bench.options;
  const server = await bench.serve(variant, { ...more, queries: path !== '/', switches: true });
  try {
    await closedLoop({ port: server.port, path }, { requests: warmUp });
    await sleep(SENT_AFTER_MS);
    const added: CpuTime[] = [];
    for (let pair = 0; pair < pairs; pair++) {
      // A process becomes faster for a while: who goes first changes.
      const order =
        pair % 2 === 0 ? (['send nothing', 'send'] as const) : (['send', 'send nothing'] as const);
      const taken: Partial<Record<(typeof order)[number], CpuTime>> = {};
      for (const what of order) {
        await server.ask(what);
        taken[what] = await slice(server, path, sliceMs);
      }
      const { send: on, 'send nothing': off } = taken;
      if (on !== undefined && off !== undefined)
        added.push({ all: on.all - off.all, main: on.main - off.main });
    }
    await server.ask('send');
    return { added, sent: await sentOf(server, path, { collector: await bench.collector(), ms: sliceMs }) };
  } finally {
    await server.stop();
  }
}

function figuresOf(
  what: string,
  { added, sent }: { added: readonly CpuTime[]; sent: Sent },
): { figures: Figure[]; all: number; main: number } {
  const all = spreadOf(added.map((one) => one.all));
  const main = spreadOf(added.map((one) => one.main));
  return {
    figures: [
      { goal: null, what: `${what}, CPU added`, value: all.median, spread: all, unit: 'µs' },
      { goal: null, what: `${what}, on the main thread`, value: main.median, spread: main, unit: 'µs' },
      { goal: null, what: `${what}, sent for each request`, value: sent.spans, unit: 'spans' },
      { goal: null, what: `${what}, sent for each request`, value: sent.bytes, unit: 'bytes' },
    ],
    all: all.median,
    main: main.median,
  };
}

async function measure(bench: Bench, page: Page): Promise<Figure[]> {
  const collector = await bench.collector();
  const profilerOptions = { otlp: true, otlpEndpoint: collector.address };
  const live = await addedBySending(bench, 'hindsight', page, { profilerOptions });
  const peer = await addedBySending(bench, 'dd-trace', page, {});
  for (const address of ['/v1/traces', '/v0.'])
    if (collector.bytes(address) === 0) throw new Error(`Nothing was sent to ${address}.`);
  const hindsight = figuresOf(`${page.label}: live OTLP`, live);
  const datadog = figuresOf(`${page.label}: dd-trace’s exporter`, peer);
  return [
    ...hindsight.figures,
    ...datadog.figures,
    {
      goal: null,
      what: `${page.label}: live OTLP, more than dd-trace’s exporter`,
      value: hindsight.all - datadog.all,
      unit: 'µs',
      must: 0,
    },
    {
      goal: null,
      what: `${page.label}: the same, on the main thread`,
      value: hindsight.main - datadog.main,
      unit: 'µs',
      must: 0,
    },
  ];
}

export const otlp: Row = {
  name: 'otlp',
  what: 'CPU of sending what was recorded: live OTLP, and dd-trace’s exporter',
  async run(bench) {
    return [
      ...(await measure(bench, { path: '/', label: '(c)' })),
      ...(await measure(bench, { path: '/db', label: '(d)' })),
    ];
  },
};
