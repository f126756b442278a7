/** The panel of the process: CPU, event loop, garbage collection and memory while the request ran. */
import type { Context } from '../profiler/context.ts';
import type { Finding } from '../profiler/finding.ts';
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

/** Worth a sentence from here on. */
const HELD_MS = 50;
const COLLECTION_MS = 50;

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
interface KeptRuntime extends Omit<RuntimeData, 'held' | 'collections' | 'totals'> {
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

function findings(kept: KeptRuntime): Finding[] {
  if (kept.held === undefined && kept.collections === undefined) return [];
  const data = derive(kept);
  if (data === null) return [];
  const { held, totals, concurrent, durationMs } = data;
  const found: Finding[] = [];
  if (totals.heldMs >= HELD_MS) {
    const longest = held.reduce(
      (worst, { durationMs: ms }, index) => (ms > (held[worst]?.durationMs ?? 0) ? index : worst),
      0,
    );
    const by =
      concurrent === 1
        ? 'by this request or work beside it'
        : concurrent === 2
          ? 'by this request or the other one that ran'
          : `by this request or one of the ${concurrent - 1} others that ran`;
    found.push({
      label: 'loop held',
      severity: 'warn',
      sentence: `The event loop was held for ${totals.heldMs.toFixed(0)} ms of ${durationMs.toFixed(0)} ms, ${by}`,
      panel: 'runtime',
      anchor: `h${longest + 1}`,
    });
  }
  if (totals.collectionMs >= COLLECTION_MS) {
    const sentence = `Garbage collection took ${totals.collectionMs.toFixed(0)} ms of ${durationMs.toFixed(0)} ms`;
    found.push({ label: 'garbage collection', severity: 'warn', sentence, panel: 'runtime', anchor: 'gc' });
  }
  return found;
}

export function createRuntimePanel(): Panel<RuntimeData, KeptRuntime> {
  return {
    name: 'runtime',
    title: 'Runtime',
    comparable: comparableRuntime,
    collect,
    derive,
    findings,
    summary: ({ cpuUserMs, cpuSystemMs, totals }) => ({
      text: `${(cpuUserMs + cpuSystemMs).toFixed(1)} ms CPU`,
      tone: totals.heldMs >= HELD_MS ? 'warn' : 'plain',
    }),
  };
}
