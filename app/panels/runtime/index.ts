/** The panel of the process: CPU, event loop, garbage collection and memory while the request ran. */
import type { Context } from '../../profiler/context.ts';
import type { Panel, PanelPage } from '../../profiler/panel.ts';
import { filled } from '../../profiler/plain.ts';
import { comparableRuntime } from './comparable.ts';
import { previewRuntime } from './preview.ts';
import type { KeptHold } from '../shared/kept-panels.ts';
import { round } from '../shared/rows.ts';
import { ticksOf } from '../shared/ticks.ts';

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
  held: KeptHold[];
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
  held: KeptHold[] | undefined;
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
    memory: {
      rss: memory.rss,
      heapUsed: memory.heapUsed,
      heapTotal: memory.heapTotal,
      external: memory.external,
      sampledMs: Math.round(memory.sampledMs),
    },
    concurrent: reading.concurrent,
  };
}

/** Rows of a kind that a page shows. */
const MOST_ROWS = 60;
/** A request that began so long before may still have run. */
const BEFORE_MS = 2000;

interface RuntimeRow extends Interval {
  id: string;
  kind: 'held' | 'collection';
  what: string;
  /** The request that held the loop, where it was another one. */
  other: string | null;
}

function heldRow({ startMs, durationMs, by }: KeptHold, index: number, token: string): RuntimeRow {
  const other = by !== undefined && by.profile !== token ? by.profile : null;
  const what =
    by === undefined
      ? 'loop held'
      : other === null
        ? `loop held here, in ${by.where}`
        : `loop held by ${by.what}, in ${by.where}`;
  return { id: `h${index + 1}`, kind: 'held', what, other, startMs, durationMs };
}

function present(data: RuntimeData, { profile }: PanelPage) {
  const { held, collections, durationMs } = data;
  const rows = [
    ...held.slice(0, MOST_ROWS).map((hold, index) => heldRow(hold, index, profile.token)),
    ...collections.slice(0, MOST_ROWS).map(({ kind, ...interval }, index): RuntimeRow => ({
      ...interval,
      id: `gc${index + 1}`,
      kind: 'collection',
      what: `garbage collection, ${kind}`,
      other: null,
    })),
  ].sort((a, b) => a.startMs - b.startMs);
  const axisMs = Math.max(0.1, durationMs);
  return {
    rows,
    left: held.length + collections.length - rows.length,
    axisMs,
    ticks: ticksOf(0, axisMs),
    /** What began while this request ran, or shortly before. */
    beside: {
      from: new Date(profile.startedAt - BEFORE_MS).toISOString(),
      until: new Date(profile.startedAt + Math.ceil(durationMs)).toISOString(),
    },
    beforeMs: BEFORE_MS,
  };
}

export function createRuntimePanel(): Panel<RuntimeData, KeptRuntime> {
  return {
    name: 'runtime',
    title: 'Runtime',
    group: 'process',
    key: 'u',
    toolbar: { rank: 81, label: 'memory' },
    comparable: comparableRuntime,
    collect,
    derive,
    summary: ({ cpuUserMs, cpuSystemMs, totals }) => ({
      text: `${(cpuUserMs + cpuSystemMs).toFixed(1)} ms CPU`,
      tone: totals.heldMs >= HELD_MS ? 'warn' : 'plain',
    }),
    draw: present,
    preview: previewRuntime,
  };
}
