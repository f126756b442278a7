/** The panel of the process: CPU, event loop, garbage collection and memory while the request ran. */
import type { Context } from '../profiler/context.ts';
import type { Panel } from '../profiler/panel.ts';
import { filled } from '../profiler/plain.ts';
import { comparableRuntime } from './runtime/comparable.ts';
import { round } from './shared/rows.ts';

interface Interval {
  startMs: number;
  durationMs: number;
}

export interface RuntimeData {
  durationMs: number;
  cpuUserMs: number;
  cpuSystemMs: number;
  /** 0 to 1. */
  loopUtilization: number;
  held: Interval[];
  collections: (Interval & { kind: string })[];
  memory: { rss: number; heapUsed: number; heapTotal: number; external: number; sampledMs: number };
  concurrent: number;
  totals: { heldMs: number; collectionMs: number };
}

/** Worth a worry from here on. */
const HELD_MS = 50;

function rounded<T extends Interval>(intervals: readonly T[]): T[] {
  return intervals.map((interval) => ({
    ...interval,
    startMs: round(interval.startMs),
    durationMs: round(interval.durationMs),
  }));
}

function sum(intervals: readonly Interval[]): number {
  return round(intervals.reduce((total, { durationMs }) => total + durationMs, 0));
}

/** What stands in each profile: an empty list is left out, sums are made when it is read. */
export interface KeptRuntime extends Omit<RuntimeData, 'held' | 'collections' | 'totals'> {
  held: Interval[] | undefined;
  collections: RuntimeData['collections'] | undefined;
}

function derive(kept: KeptRuntime | null): RuntimeData | null {
  if (kept === null) return null;
  const { held = [], collections = [] } = kept;
  return { ...kept, held, collections, totals: { heldMs: sum(held), collectionMs: sum(collections) } };
}

function collect(context: Context): KeptRuntime | null {
  const reading = context.first('runtime')?.read();
  if (reading === undefined) return null;
  const { held, collections, memory } = reading;
  return {
    durationMs: round(context.durationMs ?? context.elapsedMs()),
    cpuUserMs: round(reading.cpuUserMs),
    cpuSystemMs: round(reading.cpuSystemMs),
    loopUtilization: Math.round(reading.loopUtilization * 1000) / 1000,
    held: filled(rounded(held)),
    collections: filled(rounded(collections)),
    memory: { ...memory, sampledMs: Math.round(memory.sampledMs) },
    concurrent: reading.concurrent,
  };
}

export function createRuntimePanel(): Panel<RuntimeData, KeptRuntime> {
  return {
    name: 'runtime',
    title: 'Runtime',
    comparable: comparableRuntime,
    collect,
    derive,
    summary: ({ cpuUserMs, cpuSystemMs, totals }) => ({
      text: `${(cpuUserMs + cpuSystemMs).toFixed(1)} ms CPU`,
      tone: totals.heldMs >= HELD_MS ? 'warn' : 'plain',
    }),
  };
}
