/**
 * What the process did while a request ran -> fact `runtime`: CPU, event-loop use, times the loop was held, garbage
 * collections, memory. Figures are the process's, so with several requests at once they are shared; the fact says how
 * many there were.
 *
 * Cheap at the start (two readings, 1.5 µs); the rest is worked out when the fact is read. Memory costs the most
 * (8 to 27 µs) and is sampled once a second at most. The loop is watched by a timer that runs only while requests do.
 */
import { constants, performance, PerformanceObserver } from 'node:perf_hooks';
import type { Context } from '../profiler/context.ts';

export interface Interval {
  startMs: number;
  durationMs: number;
}

export interface RuntimeReading {
  /** CPU of the whole process, all threads. */
  cpuUserMs: number;
  cpuSystemMs: number;
  /** 0 to 1: how busy the event loop was. */
  loopUtilization: number;
  /** Times the loop was held for longer than 10 ms, by whomever. */
  held: Interval[];
  collections: (Interval & { kind: string })[];
  /** Bytes; `sampledMs`: how long ago, at most a second. */
  memory: { rss: number; heapUsed: number; heapTotal: number; external: number; sampledMs: number };
  /** Most requests that ran at once, this one included. */
  concurrent: number;
}

export interface RuntimeFact {
  /** Figures up to now, or to the end of the request. */
  read(): RuntimeReading;
}

declare module '../profiler/facts.ts' {
  interface Facts {
    runtime: RuntimeFact;
  }
}

export interface RuntimeObserver {
  /** Called once per request, at its start. */
  onRequest: (context: Context) => void;
  close(): void;
}

/** Milliseconds between two looks at the loop. */
const TICK = 20;
/** Lateness that counts as held. */
const HELD_FROM = 10;
/** Intervals kept for requests that still run. */
const KEPT = 200;
const MEMORY_EVERY = 1000;

const kinds = new Map<number, string>([
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weak callbacks'],
]);

interface Mark {
  start: number;
  duration: number;
  kind: string;
}

function keep(list: Mark[], mark: Mark): void {
  list.push(mark);
  if (list.length > KEPT) list.splice(0, list.length - KEPT);
}

/** Parts of `marks` that lie within the request, in its own time. */
function within(marks: readonly Mark[], context: Context, end: number): (Interval & { kind: string })[] {
  const found: (Interval & { kind: string })[] = [];
  for (const { start, duration, kind } of marks) {
    const from = Math.max(0, context.sinceStart(start));
    const to = Math.min(end, context.sinceStart(start + duration));
    if (to > from) found.push({ startMs: from, durationMs: to - from, kind });
  }
  return found;
}

export function observeRuntime(): RuntimeObserver {
  const running = new Set<Context>();
  const held: Mark[] = [];
  const collections: Mark[] = [];
  let timer: NodeJS.Timeout | null = null;
  let expected = 0;
  let memory = { at: -Infinity, usage: process.memoryUsage() };

  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const kind = (entry as { detail?: { kind?: number } }).detail?.kind ?? 0;
      const { startTime: start, duration } = entry;
      keep(collections, { start, duration, kind: kinds.get(kind) ?? 'other' });
    }
  });
  observer.observe({ entryTypes: ['gc'] });

  function look(): void {
    const now = performance.now();
    if (now - expected > HELD_FROM) keep(held, { start: expected, duration: now - expected, kind: 'held' });
    expected = now + TICK;
    for (const context of running) if (context.ended) running.delete(context);
    if (running.size > 0) return;
    if (timer !== null) clearInterval(timer);
    timer = null;
  }

  function start(): void {
    if (timer !== null) return;
    expected = performance.now() + TICK;
    timer = setInterval(look, TICK).unref();
  }

  function sampleMemory(): RuntimeReading['memory'] {
    const now = performance.now();
    if (now - memory.at > MEMORY_EVERY) memory = { at: now, usage: process.memoryUsage() };
    const { rss, heapUsed, heapTotal, external } = memory.usage;
    return { rss, heapUsed, heapTotal, external, sampledMs: now - memory.at };
  }

  /** The loop may be held by the code that ends this request: its timer had no turn yet. */
  function heldUntil(now: number): Mark[] {
    const late = timer === null ? 0 : now - expected;
    return late > HELD_FROM ? [...held, { start: expected, duration: late, kind: 'held' }] : held;
  }

  function onRequest(context: Context): void {
    const cpu = process.cpuUsage();
    const loop = performance.eventLoopUtilization();
    running.add(context);
    start();
    let concurrent = running.size;
    let final: RuntimeReading | null = null;

    function read(): RuntimeReading {
      if (final !== null) return final;
      concurrent = Math.max(concurrent, running.size);
      const { user, system } = process.cpuUsage(cpu);
      const end = context.durationMs ?? context.elapsedMs();
      const reading: RuntimeReading = {
        cpuUserMs: user / 1000,
        cpuSystemMs: system / 1000,
        loopUtilization: performance.eventLoopUtilization(loop).utilization,
        held: within(heldUntil(performance.now()), context, end).map(({ startMs, durationMs }) => ({
          startMs,
          durationMs,
        })),
        collections: within(collections, context, end),
        memory: sampleMemory(),
        concurrent,
      };
      if (context.ended) {
        final = reading;
        running.delete(context);
      }
      return reading;
    }
    context.add('runtime', { read });
  }

  return {
    onRequest,
    close() {
      observer.disconnect();
      if (timer !== null) clearInterval(timer);
      timer = null;
      running.clear();
    },
  };
}
