/**
 * Blocks of the event loop, by a timer that comes late while the loop is busy; and which request or interval ran all that time, where that
 * is certain. A timer that is late because the thread got no CPU was not delayed by the process's own code.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import type { Context } from '../profiler/record/context.ts';
import type { OpenList } from '../profiler/record/open-list.ts';
import type {} from './layers/layer-fact.ts';
import type { IntervalHolder, Leftovers } from './leftovers.ts';
import { requestName } from './request-name.ts';
import type {} from './view-trace.ts';

export interface LoopBlocker {
  profile: string;
  what: string;
  where: string;
  place?: string | null;
}

export interface BlockedBy {
  by?: LoopBlocker;
  interval?: IntervalHolder;
}

export interface Mark extends BlockedBy {
  start: number;
  duration: number;
  kind: string;
  /** Of a block: CPU time of the process meanwhile. */
  cpuMs?: number;
}

/** Milliseconds between two samples of the event loop. */
const TICK = 20;
/** Lateness of the timer that counts as a block. */
const BLOCKED_FROM = 10;
/** Milliseconds for which the loop is watched after the last request: what blocks it then delays the next one. */
const GO_ON = 60_000;
/** Intervals stored for requests that still run. */
const KEPT = 200;
/** Share of the blocked time that has to be covered: the loop is sampled every 20 ms only. */
const COVERED = 0.8;
const LONGEST = 200;
/** Linux's own account: its second number is nanoseconds on the run queue. */
const PATH = '/proc/thread-self/schedstat';
/** Three numbers of at most twenty digits. */
const MOST_BYTES = 64;

interface Piece {
  startMs: number;
  durationMs: number | null;
}

function nameOf({ name, pattern }: { name: string; pattern: string }): string {
  return (name === '' || name === '<anonymous>' ? pattern : name).slice(0, LONGEST);
}

/** The innermost piece of this request's work that lasted through all of it. */
function workIn(context: Context, from: number, to: number): Pick<LoopBlocker, 'where' | 'place'> | null {
  const isMost = (start: number, end: number): boolean =>
    Math.min(end, to) - Math.max(start, from) >= (to - from) * COVERED;
  const covers = ({ startMs, durationMs }: Piece): boolean => {
    const start = context.startMark + startMs;
    return durationMs !== null && isMost(start, start + durationMs);
  };
  const own = context.ownWork.find((work) => isMost(work.from, work.to));
  if (own !== undefined) return { where: `Hindsight’s ${own.what}`, place: null };
  const view = context.all('view').findLast(covers);
  if (view !== undefined) return { where: view.name.slice(0, LONGEST), place: view.caller };
  const layer = context.all('layer').findLast(covers);
  return layer === undefined ? null : { where: nameOf(layer), place: layer.source };
}

function loopBlocker(contexts: Iterable<Context>, from: number, to: number): LoopBlocker | null {
  for (const context of contexts) {
    const where = workIn(context, from, to);
    if (where === null) continue;
    return { profile: context.token, what: requestName(context), ...where };
  }
  return null;
}

function openOrNull(): number | null {
  try {
    return openSync(PATH, 'r');
  } catch {
    return null;
  }
}

/** How long this thread was ready to run and got no CPU. */
function openRunQueue() {
  let file = openOrNull();
  const buffer = Buffer.alloc(MOST_BYTES);
  return {
    waitedMs(): number {
      if (file === null) return 0;
      try {
        const length = readSync(file, buffer, 0, MOST_BYTES, 0);
        const waited = Number(buffer.toString('latin1', 0, length).split(' ')[1]);
        return Number.isFinite(waited) ? waited / 1e6 : 0;
      } catch {
        return 0;
      }
    },
    close(): void {
      if (file !== null) closeSync(file);
      file = null;
    },
  };
}

export function pushBounded(list: Mark[], mark: Mark): void {
  list.push(mark);
  if (list.length > KEPT) list.splice(0, list.length - KEPT);
}

/** Milliseconds for which the event loop has been idle since the process began. */
function idleTime(): number {
  return performance.nodeTiming.idleTime;
}

/** CPU time of the process, all threads. */
function cpuTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Watches the event loop while requests run, and a while longer. */
export function createLoopWatch(running: OpenList<Context>, leftovers: Pick<Leftovers, 'holder'>) {
  const marks: Mark[] = [];
  let timer: NodeJS.Timeout | null = null;
  let expected = 0;
  let lastRan = 0;
  /** The block that has just ended: what is read until the loop turns again may have arrived meanwhile. */
  let ended: Mark | null = null;
  /** At the last sample. */
  let idle = 0;
  let cpu = 0;
  let queued = 0;
  const queue = openRunQueue();

  function stop(): void {
    if (timer !== null) clearInterval(timer);
    timer = null;
  }

  function expectAt(now: number): void {
    expected = now + TICK;
    idle = idleTime();
    cpu = cpuTime();
    queued = queue.waitedMs();
  }

  /** The block that ends now; null if there was none, or the loop was idle or waited for a CPU: then the machine was busy, or slept. */
  function blockedUntil(now: number): Mark | null {
    const late = now - expected;
    if (late <= BLOCKED_FROM) return null;
    const duration = Math.min(late, late + TICK - (idleTime() - idle)) - (queue.waitedMs() - queued);
    if (duration <= BLOCKED_FROM) return null;
    return { start: now - duration, duration, kind: 'blocked', cpuMs: Math.min(duration, cpuTime() - cpu) };
  }

  function blockedBy(from: number, to: number): BlockedBy {
    const by = loopBlocker(running, from, to);
    if (by !== null) return { by };
    const interval = leftovers.holder(from, to);
    return interval === null ? {} : { interval };
  }

  function look(): void {
    const now = performance.now();
    const mark = blockedUntil(now);
    if (mark !== null) {
      ended = { ...mark, ...blockedBy(mark.start, now) };
      pushBounded(marks, ended);
      setImmediate(() => {
        ended = null;
      });
    }
    expectAt(now);
    for (const context of running) if (context.ended) running.delete(context);
    if (running.size > 0) lastRan = now;
    else if (now - lastRan > GO_ON) stop();
  }

  return {
    start(now: number): void {
      lastRan = now;
      if (timer !== null) return;
      expectAt(now);
      timer = setInterval(look, TICK).unref();
    },
    /** The code that ends this request may have blocked the loop: its timer had no turn yet. */
    blocks(): readonly Mark[] {
      const mark = timer === null ? null : blockedUntil(performance.now());
      return mark === null ? marks : [...marks, mark];
    },
    /** The block during which a request that is read now may have arrived. */
    before(now: number): ({ durationMs: number } & BlockedBy) | undefined {
      const current = timer === null ? null : blockedUntil(now);
      const mark = current ?? ended;
      if (mark === null) return undefined;
      const { by, interval } = mark;
      return {
        durationMs: now - mark.start,
        ...(by === undefined && interval === undefined ? blockedBy(mark.start, now) : { by, interval }),
      };
    },
    /** Milliseconds that the thread has waited for a CPU: now, and at the last sample. */
    queuedMs: (when: 'now' | 'sampled'): number => (when === 'now' ? queue.waitedMs() : queued),
    close(): void {
      stop();
      queue.close();
    },
  };
}
