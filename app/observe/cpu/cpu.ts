/**
 * A CPU profile of one request -> fact `cpu`: V8's own sampler, by node:inspector. Starting it takes 40 to 300 ms, because V8 lists every
 * function of the process, so it runs only for a request that was asked for (decision 19): by a header, by a form, or because its
 * address had blocked the event loop. One at a time.
 */
import type { Profiler, Session } from 'node:inspector';
import { type Context, type ContextTracker, createSlot } from '../../profiler/record/context.ts';
import type {
  CpuReason,
  CpuSampler,
  CpuSamples,
  KeptCpu,
  SampledElsewhere,
} from '../../profiler/record/cpu-samples.ts';
import { callTree, busiestFunctionIn } from '../../profiler/read/cpu-tree.ts';
import { pathOf } from '../../profiler/request-target.ts';
import { cutProfile } from './cpu-cut.ts';
import { describeFunctions, type FunctionOptions } from './cpu-functions.ts';
import { type SliceWatch, watchSlices } from './cpu-slices.ts';
import { dropOldest } from '../../profiler/drop-oldest.ts';

export type CpuMode = 'off' | 'ask' | 'auto';

declare module '../../profiler/record/facts.ts' {
  interface Facts {
    cpu: KeptCpu;
  }
}

export interface CpuSamplerOptions extends FunctionOptions {
  tracker: ContextTracker;
  mode: CpuMode;
  /** Coverage of the process is measured by V8, too; default: it is not. */
  measuresCoverage?: boolean;
  limitMs?: number;
  /** Called once a request of an address is sampled, with the token of the one that had blocked the event loop there. */
  onSampled?(of: string, sampled: SampledElsewhere): void;
}

const CPU_HEADER = 'x-debug-profile';
const EVERY_US = 1000;
const LIMIT_MS = 30_000;
const ARMED_MS = 600_000;
const MOST_ARMED = 50;
const MOST_KNOWN = 500;
/** Milliseconds for which a request has blocked the event loop itself, so that the next one is sampled. */
const BLOCKED_MS = 50;
const SAME_CLOCK_US = 10_000_000;
const NUMBER_BYTES = 8;
const FUNCTION_BYTES = 200;

interface Running {
  asked: CpuReason;
  session: Session;
  slices: SliceWatch | null;
  startingMs: number;
  timer: NodeJS.Timeout | null;
}

function call(session: Session, method: string, params: object = {}): unknown {
  let failure: Error | null = null;
  let result: unknown;
  session.post(method, params, (error: Error | null, value?: object) => {
    failure = error;
    result = value;
  });
  if (failure !== null) throw failure as Error;
  return result;
}

/** Drops optimized code, which V8 makes again: what was inlined, or made while a loop ran, the sampler would take for its caller. */
function forgetOptimized(session: Session): void {
  call(session, 'Profiler.startPreciseCoverage', { callCount: false, detailed: false });
  call(session, 'Profiler.stopPreciseCoverage');
}

function nodeOffset(): number {
  return Number(process.hrtime.bigint()) / 1000 - performance.now() * 1000;
}

/** V8's microseconds for a reading of `performance.now()`: mostly Node's own clock, else as of the moment when sampling ended. */
function clockOf({ endTime }: Profiler.Profile, stoppedAt: number): (mark: number) => number {
  const same = nodeOffset();
  const isSame = Math.abs(endTime - stoppedAt * 1000 - same) < SAME_CLOCK_US;
  const offset = isSame ? same : endTime - stoppedAt * 1000;
  return (mark) => mark * 1000 + offset;
}

function keyOf(method: string, url: string): string {
  return `${method} ${pathOf(url)}`;
}

export function createCpuSampler(options: CpuSamplerOptions): CpuSampler {
  const { tracker, mode, limitMs = LIMIT_MS } = options;
  const armed = new Map<string, { until: number; asked: CpuReason }>();
  /** Addresses that were sampled, and which function ran there, or that are going to be: the token of the request that blocked there. */
  const known = new Map<string, SampledElsewhere | string>();
  const slot = createSlot<Running>('cpu');
  let running: Running | null = null;

  function start(asked: CpuReason): Running {
    const before = performance.now();
    // Not imported: few processes need it, and a Node.js without inspector has none.
    const session = new (process.getBuiltinModule('node:inspector').Session)();
    session.connect();
    try {
      call(session, 'Profiler.enable');
      call(session, 'Profiler.setSamplingInterval', { interval: EVERY_US });
      // It would end the process's own measurement.
      if (options.measuresCoverage !== true) forgetOptimized(session);
      call(session, 'Profiler.start');
    } catch (error) {
      session.disconnect();
      throw error;
    }
    return { asked, session, slices: null, startingMs: performance.now() - before, timer: null };
  }

  function samplesOf(context: Context, { session, slices, asked, startingMs }: Running): CpuSamples {
    const { own: marks, otherMs } = slices?.end() ?? { own: [], otherMs: 0 };
    const stoppedAt = performance.now();
    const { profile } = call(session, 'Profiler.stop') as Profiler.StopReturnType;
    const toClock = clockOf(profile, stoppedAt);
    const endMark = context.startMark + (context.durationMs ?? context.elapsedMs());
    const own = marks.filter((_mark, index) => (marks[index - (index % 2)] ?? 0) < endMark);
    const cut = cutProfile(profile, own.map(toClock));
    const { functions, indexes, callLines } = describeFunctions(cut.nodes, options);
    let ownMs = 0;
    for (let index = 0; index < own.length; index += 2) ownMs += (own[index + 1] ?? 0) - (own[index] ?? 0);
    return {
      asked,
      everyUs: EVERY_US,
      spanMs: endMark - context.startMark,
      startingMs,
      samples: cut.samples,
      ownMs,
      otherMs,
      functions,
      nodes: cut.nodes.flatMap(({ parent, selfUs }, index) => [
        parent,
        indexes[index] ?? 0,
        Math.round(selfUs),
        callLines[index] ?? 0,
      ]),
      runsStartMs: (profile.startTime - toClock(context.startMark)) / 1000,
      runs: cut.runs.flat(),
      ...(cut.nodesLeft === 0 ? {} : { nodesLeft: cut.nodesLeft }),
      ...(cut.isThinned ? { isThinned: true } : {}),
    };
  }

  function remember(context: Context, samples: CpuSamples): void {
    const request = context.first('request');
    const holder = samples.ownMs < BLOCKED_MS ? null : busiestFunctionIn(callTree(samples));
    if (holder === null) return;
    const key = keyOf(request?.method ?? '', request?.url ?? '');
    const blocked = known.get(key);
    const sampled = { ...holder, profile: context.token };
    known.set(key, sampled);
    dropOldest(known, MOST_KNOWN);
    if (typeof blocked === 'string') options.onSampled?.(blocked, sampled);
  }

  function stop(context: Context, isOverLimit: boolean): void {
    const current = slot.get(context);
    if (current === undefined || current !== running) return;
    running = null;
    if (current.timer !== null) clearTimeout(current.timer);
    try {
      const samples = samplesOf(context, current);
      remember(context, samples);
      const { functions, nodes, runs } = samples;
      const bytes = functions.length * FUNCTION_BYTES + (nodes.length + runs.length) * NUMBER_BYTES;
      context.add('cpu', isOverLimit ? { ...samples, isOverLimit } : samples, bytes);
    } catch (error) {
      context.add('cpu', { skipped: `V8’s sampler failed: ${String(error).slice(0, 200)}` });
    } finally {
      current.slices?.end();
      current.session.disconnect();
    }
  }

  /** Its own code blocked the event loop: an earlier request to its address shows which function did, or the next one will. */
  function noteBlock(context: Context): void {
    if (context.kind !== 'request' || context.summary !== null) return;
    // Before anything else: most requests are shorter.
    if (context.elapsedMs() < BLOCKED_MS) return;
    const request = context.first('request');
    const key = keyOf(request?.method ?? '', request?.url ?? '');
    const earlier = known.get(key);
    if (typeof earlier === 'string') return;
    if (earlier === undefined && (mode !== 'auto' || known.size >= MOST_KNOWN)) return;
    const reading = context.first('runtime')?.read();
    if (reading === undefined) return;
    const { blocks, concurrent } = reading;
    const isOwn = (by?: { profile: string }): boolean =>
      by === undefined ? concurrent === 1 : by.profile === context.token;
    const blockedMs = blocks.reduce((sum, { durationMs, by }) => sum + (isOwn(by) ? durationMs : 0), 0);
    if (blockedMs < BLOCKED_MS) return;
    if (earlier !== undefined) {
      context.add('cpu', { earlier }, FUNCTION_BYTES);
      return;
    }
    known.set(key, context.token);
    armKey(key, 'block');
  }

  function armKey(key: string, asked: CpuReason): void {
    armed.set(key, { until: performance.now() + ARMED_MS, asked });
    dropOldest(armed, MOST_ARMED);
  }

  return {
    reasonFor(req) {
      if (mode === 'off') return null;
      if (armed.size > 0) {
        const key = keyOf(req.method ?? '', req.url ?? '');
        const found = armed.get(key);
        if (found !== undefined) {
          armed.delete(key);
          if (found.until > performance.now()) return found.asked;
        }
      }
      return req.headers[CPU_HEADER] === 'cpu' ? 'header' : null;
    },
    begin(asked, open) {
      let started: Running | null = null;
      let skipped = 'Another request was being sampled; only one can be at a time.';
      try {
        if (running === null) started = running = start(asked);
      } catch (error) {
        skipped = `V8’s sampler could not be started: ${String(error).slice(0, 200)}`;
      }
      const context = open();
      if (started === null) {
        context.add('cpu', { skipped });
        return context;
      }
      slot.set(context, started);
      started.slices = watchSlices(tracker, context);
      started.timer = setTimeout(() => {
        stop(context, true);
      }, limitMs).unref();
      return context;
    },
    run(context, work) {
      const slices = slot.get(context)?.slices;
      if (slices === undefined || slices === null) work();
      else slices.run(work);
    },
    finish(context) {
      const current = slot.get(context);
      if (current === undefined) noteBlock(context);
      if (current === undefined || current !== running) return;
      // After the end of the request: what this takes is not its time.
      context.expect(
        new Promise<void>((resolve) => {
          setImmediate(() => {
            // What blocked the loop last is measured before this does.
            context.first('runtime')?.read();
            stop(context, false);
            resolve();
          });
        }),
      );
    },
    isOff: mode === 'off',
    arm({ method, url }) {
      if (mode !== 'off') armKey(keyOf(method, url), 'form');
    },
    isArmed: ({ method, url }) => (armed.get(keyOf(method, url))?.until ?? 0) > performance.now(),
    close() {
      armed.clear();
      if (running === null) return;
      running.slices?.end();
      if (running.timer !== null) clearTimeout(running.timer);
      running.session.disconnect();
      running = null;
    },
  };
}
