/**
 * The process while a request ran -> fact `runtime`: CPU, event loop use and blocks, garbage collections, memory. The
 * figures are those of the process and are shared by concurrent requests; the fact says how many. Derived when the fact is read.
 */
import {
  constants,
  type EventLoopUtilization,
  type PerformanceEntry,
  performance,
  PerformanceObserver,
} from 'node:perf_hooks';
import { type Context, createSlot } from '../profiler/record/context.ts';
import { createOpenList } from '../profiler/record/open-list.ts';
import { type Grown, type LeftoverParts, observeLeftovers } from './leftovers.ts';
import { type BlockedBy, createLoopWatch, type Mark, pushBounded } from './loop-watch.ts';

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
  /**
   * Blocks of the event loop longer than 10 ms, with the CPU time that the process used meanwhile; by which request or interval, where
   * that is certain.
   */
  blocks: (Interval & { cpuMs?: number } & BlockedBy)[];
  collections: (Interval & { kind: string })[];
  /** How long it may have waited before it was read, because the event loop was blocked; absent: no block came before it. */
  before?: { durationMs: number } & BlockedBy;
  /** Timers and listeners that this request added to those of earlier ones; absent: none. */
  grown?: Grown[];
  /** Bytes. */
  memory: { rss: number; heapUsed: number; heapTotal: number; external: number };
  /** Requests that overlapped with this one, including itself. */
  concurrent: number;
  /** How long the thread was ready to run and got no CPU: the machine was busy. Absent: it is not known, or the request was short. */
  queuedMs?: number;
}

export interface RuntimeFact {
  /** Figures until now, or until the end of the request. */
  read(): RuntimeReading;
}

declare module '../profiler/record/facts.ts' {
  interface Facts {
    runtime: RuntimeFact;
  }
}

/** Milliseconds for which a reading of the memory is used again. */
const MEMORY_AGE = 100;
/** Milliseconds that a reading of the CPU time serves requests that overlap: it asks all threads, which takes long under load. */
const CPU_AGE = 10;
/** Of a shorter request nobody asks why it took so long. */
const LONG = 50;

const kinds = new Map<number, string>([
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weak callbacks'],
]);

type Found = Interval & Pick<Mark, 'kind' | 'cpuMs' | 'by' | 'interval'>;

/** What the process had used at that moment. */
interface ProcessSample {
  cpu: NodeJS.CpuUsage;
  loop: EventLoopUtilization;
}

/** Parts of `marks` that lie within the request, in its own time. Marks are in order, so the newest are enough. */
function within(marks: readonly Mark[], context: Context, end: number): Found[] {
  const found: Found[] = [];
  for (let index = marks.length - 1; index >= 0; index--) {
    const mark = marks[index];
    if (mark === undefined) break;
    const until = context.sinceStart(mark.start + mark.duration);
    if (until <= 0) break;
    const from = Math.max(0, context.sinceStart(mark.start));
    const to = Math.min(end, until);
    if (to <= from) continue;
    const { kind, cpuMs, by, interval } = mark;
    found.push({
      startMs: from,
      durationMs: to - from,
      kind,
      ...(cpuMs === undefined ? {} : { cpuMs: (cpuMs * (to - from)) / mark.duration }),
      ...(by === undefined ? {} : { by }),
      ...(interval === undefined ? {} : { interval }),
    });
  }
  return found.reverse();
}

/** Observes garbage collections from its first use on. */
function createCollections(): { marks: readonly Mark[]; start(): void; close(): void } {
  const marks: Mark[] = [];
  let started = false;
  function note(entry: PerformanceEntry): void {
    const kind = (entry as { detail?: { kind?: number } }).detail?.kind ?? 0;
    pushBounded(marks, {
      start: entry.startTime,
      duration: entry.duration,
      kind: kinds.get(kind) ?? 'other',
    });
  }
  const observer = new PerformanceObserver((list) => {
    list.getEntries().forEach(note);
  });
  return {
    marks,
    start() {
      if (started) return;
      started = true;
      observer.observe({ entryTypes: ['gc'] });
    },
    close() {
      observer.disconnect();
    },
  };
}

/** Reads the CPU time of the process. Requests that overlap share a reading for a while. */
function createCpuGauge(): (isAlone: boolean) => NodeJS.CpuUsage {
  let last = process.cpuUsage();
  let readAt = performance.now();
  return (isAlone) => {
    const now = performance.now();
    if (!isAlone && now - readAt < CPU_AGE) return last;
    readAt = now;
    return (last = process.cpuUsage());
  };
}

/** Reads the memory of the process, at most ten times a second: a reading costs as much as a small page. */
function createMemoryGauge(): () => RuntimeReading['memory'] {
  let last: RuntimeReading['memory'] | null = null;
  let readAt = 0;
  return () => {
    const now = performance.now();
    if (last !== null && now - readAt < MEMORY_AGE) return last;
    const { rss, heapUsed, heapTotal, external } = process.memoryUsage();
    readAt = now;
    return (last = { rss, heapUsed, heapTotal, external });
  };
}

export function observeRuntime(parts: LeftoverParts) {
  const leftovers = observeLeftovers(parts);
  const running = createOpenList<Context>();
  const readings = createSlot<RunningRequest>('runtime');
  const loopWatch = createLoopWatch(running, leftovers);
  const collections = createCollections();
  const memoryNow = createMemoryGauge();
  const cpuNow = createCpuGauge();
  let started = 0;
  let open = 0;

  function sampleProcess(isAlone: boolean): ProcessSample {
    return { cpu: cpuNow(isAlone), loop: performance.eventLoopUtilization() };
  }

  class RunningRequest implements RuntimeFact {
    readonly #context: Context;
    readonly #listeners = leftovers.counts();
    readonly #before: RuntimeReading['before'];
    /** At the end of the response; the profile is built some milliseconds later. */
    #last: ProcessSample | null = null;
    /** Requests that ran when this one started, with itself, and how many had started by then. */
    readonly #openAtStart = ++open;
    readonly #startedBefore = ++started;
    readonly #first = sampleProcess(this.#openAtStart === 1);
    /** Requests that overlapped with it; set when it ends. */
    #concurrent: number | null = null;
    readonly #queuedBefore = loopWatch.queuedMs('sampled');
    #queuedMs = 0;
    #final: RuntimeReading | null = null;

    constructor(context: Context, before: RuntimeReading['before']) {
      this.#context = context;
      this.#before = before;
    }

    #overlapping(): number {
      return this.#concurrent ?? this.#openAtStart + started - this.#startedBefore;
    }

    end(): void {
      this.#concurrent = this.#overlapping();
      open--;
      this.#last = sampleProcess(this.#concurrent === 1);
      if ((this.#context.durationMs ?? 0) >= LONG)
        this.#queuedMs = loopWatch.queuedMs('now') - this.#queuedBefore;
    }

    read(): RuntimeReading {
      if (this.#final !== null) return this.#final;
      const context = this.#context;
      const first = this.#first;
      const last = this.#last ?? sampleProcess(true);
      const end = context.durationMs ?? context.elapsedMs();
      const concurrent = this.#overlapping();
      const grown = leftovers.grown(context, concurrent === 1 ? this.#listeners : null);
      const reading: RuntimeReading = {
        cpuUserMs: (last.cpu.user - first.cpu.user) / 1000,
        cpuSystemMs: (last.cpu.system - first.cpu.system) / 1000,
        loopUtilization: performance.eventLoopUtilization(last.loop, first.loop).utilization,
        blocks: within(loopWatch.blocks(), context, end).map(({ kind: _kind, ...block }) => block),
        collections: within(collections.marks, context, end),
        memory: memoryNow(),
        concurrent,
        ...(this.#queuedMs < 1 ? {} : { queuedMs: Math.min(this.#queuedMs, end) }),
        ...(grown.length === 0 ? {} : { grown }),
        ...(this.#before === undefined ? {} : { before: this.#before }),
      };
      if (context.ended) {
        this.#final = reading;
        running.delete(context);
      }
      return reading;
    }
  }

  function end(context: Context): void {
    readings.get(context)?.end();
  }

  return {
    /** Called once per request, at its start. */
    onRequest(context: Context): void {
      const now = context.startMark;
      const before = loopWatch.before(now);
      collections.start();
      loopWatch.start(now);
      running.add(context);
      const fact = new RunningRequest(context, before);
      context.add('runtime', fact);
      readings.set(context, fact);
      context.onEnd = end;
    },
    close(): void {
      collections.close();
      loopWatch.close();
      leftovers.close();
      running.clear();
    },
  };
}

export type RuntimeObserver = ReturnType<typeof observeRuntime>;
