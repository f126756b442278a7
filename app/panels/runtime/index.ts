/** The panel of the process: CPU, event loop, garbage collection and memory while the request ran. */
import { round } from '../../profiler/read/span.ts';
import type { Context } from '../../profiler/record/context.ts';
import type { Panel, RecordReader } from '../../profiler/panel.ts';
import { withRoundedTimes } from '../../profiler/record/recorded-facts.ts';
import type { KeptRuntime, OwnTime, RuntimeData } from './data.ts';
import { presentRuntime } from './present.ts';
import { totalMs } from '../shared/rows.ts';
import { outsideSpans, processSpans } from './spans.ts';
import { durationText } from '../../view-helpers/numbers.ts';

const BLOCKED_MS = 50;

function dataOf({ collected: kept }: RecordReader<KeptRuntime>): RuntimeData | null {
  return kept === null ? null : { ...kept, totals: { blockedMs: round(totalMs(kept.blocks)) } };
}

/** What Hindsight did, added up by what it was; without what it does now. */
function ownTimes(context: Context): OwnTime[] {
  const times = new Map<string, OwnTime>();
  for (const { what, from, to } of context.ownWork) {
    if (to === Infinity) continue;
    const known = times.get(what) ?? { what, startMs: round(context.sinceStart(from)), durationMs: 0 };
    known.durationMs = round(known.durationMs + to - from);
    times.set(what, known);
  }
  return [...times.values()];
}

function collect(context: Context): KeptRuntime | null {
  const reading = context.first('runtime')?.read();
  if (reading === undefined) return null;
  const { memory, before } = reading;
  return {
    ...withRoundedTimes(reading),
    durationMs: round(context.durationMs ?? context.elapsedMs()),
    startMark: round(context.startMark),
    loopUtilization: Math.round(reading.loopUtilization * 1000) / 1000,
    blocks: reading.blocks.map(withRoundedTimes),
    collections: reading.collections.map(withRoundedTimes),
    memory: {
      rss: memory.rss,
      heapUsed: memory.heapUsed,
      heapTotal: memory.heapTotal,
      external: memory.external,
    },
    ...(before === undefined ? {} : { before: withRoundedTimes(before) }),
    ...(reading.grown === undefined ? {} : { grown: reading.grown }),
    own: ownTimes(context),
  };
}

export const runtimePanel: Panel<RuntimeData, KeptRuntime> = {
  name: 'runtime',
  title: 'Runtime',
  menu: {
    group: 'process',
    key: 'u',
    rank: 81,
    label: 'memory',
    summary: ({ cpuUserMs, cpuSystemMs, totals }) => ({
      text: `${durationText(cpuUserMs + cpuSystemMs)} CPU`,
      tone: totals.blockedMs >= BLOCKED_MS ? 'warn' : 'plain',
    }),
  },
  recorded: {
    spans: (kept, { profile, endMs }) => [...processSpans(kept, profile.token), ...outsideSpans(kept, endMs)],
    nothing: { what: 'The process was not watched during this request.' },
  },
  collect,
  data: dataOf,
  rows: presentRuntime,
};
