/**
 * Arguments and locals where one request throws -> fact `values`. A worker attaches the debugger to this thread and stops it at each throw,
 * caught or not: routers catch everything, so V8 can't tell which ones are. The stop calls `read` here, which looks whether the code that
 * threw runs for the request, and copies what its calls hold. One request at a time; nothing is loaded before somebody asks.
 */
import { randomBytes } from 'node:crypto';
import type { Worker } from 'node:worker_threads';
import { IncomingMessage, ServerResponse } from '../../node-http.ts';
import { type Context, type ContextTracker, createSlot } from '../../profiler/record/context.ts';
import type { Json } from '../../profiler/json.ts';
import { toPlain } from '../../profiler/record/plain.ts';
import { pathOf } from '../../profiler/request-target.ts';
import { pathsOf } from '../../profiler/record/route-in-full.ts';
import { hasPrototype, isObject } from '../../profiler/record/safe-read.ts';
import { describeError } from '../../profiler/record/thrown-value.ts';
import type {
  Stop,
  StoppedCall,
  ValueReader,
  ValuesAsked,
  ValuesFact,
  WaitedRoute,
} from '../../profiler/record/values.ts';
import { isMountingFrame, isProfilerFile } from '../stacks/caller.ts';
import { createOwnCode } from '../stacks/own-code.ts';
import { filePathOf } from '../stacks/stack-frames.ts';
import { VALUES_WORKER } from './values-worker.ts';

export interface ValueReaderOptions {
  tracker: ContextTracker;
  root: string;
  forbidden: string | null;
  /** Coverage of the process is measured by V8, too. */
  measuresCoverage: boolean;
  onRead: (of: string, token: string) => void;
  warn: (sentence: string) => void;
}

const MOST_STOPS = 20;
const STOP_MS = 10;
const MOST_CALLS = 10;
const LIMITS = { depth: 3, width: 20, length: 500, total: 200 };
const MOST_VARIABLES = 40;
const WAITS_MS = 600_000;
/** Longer than a request that is sent again may take. */
const ATTACHED_MS = 40_000;
const READY_WITHIN_MS = 10_000;
const HEADER = 'x-debug-profile';

/** Goes with Node 20: its debugger shows a variable that is not set yet, or was optimized away, as undefined. Later ones refuse to read it. */
const UNDEFINED =
  Number(process.versions.v8.split('.')[0]) < 12 ? '[undefined, or not set yet]' : '[undefined]';

interface SentCall extends Pick<StoppedCall, 'name' | 'url' | 'line' | 'column' | 'begins'> {
  scopes: [type: string, object: number][];
}

interface Attached {
  asked: ValuesAsked;
  fact: ValuesFact;
  worker: Worker;
  header: string;
  claimed: IncomingMessage | null;
  waiting: Waiting | null;
  context: Context | null;
  /** Thrown by code of the request; an error that is passed to `next` without being thrown stops by itself. */
  seen: WeakSet<object>;
  timer: NodeJS.Timeout;
}

type Waiting = ValuesAsked & WaitedRoute & { until: number; paths: RegExp };

/** Called with an error of the request that reaches the profiler, while the code that passed it on may be on the stack. */
const onError = createSlot<(error: unknown) => void>('values of an error');

export function stopAtError(context: Context, error: unknown): void {
  onError.get(context)?.(error);
}

function workedMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1000;
}

/** The parts of requests and responses that applications set. */
const PARTS = ['method', 'url', 'statusCode', 'params', 'query', 'body', 'user', 'locals'];

function ownParts(value: object): Record<string, unknown> {
  const parts: Record<string, unknown> = {};
  for (const name of PARTS) {
    const own = Object.getOwnPropertyDescriptor(value, name);
    if (own !== undefined && 'value' in own && own.value !== null) parts[name] = own.value;
  }
  return parts;
}

function plainValue(value: unknown): Json {
  if (value === undefined) return UNDEFINED;
  const isMessage =
    isObject(value) &&
    (hasPrototype(value, IncomingMessage.prototype) || hasPrototype(value, ServerResponse.prototype));
  return toPlain(isMessage ? ownParts(value) : value, LIMITS);
}

function variableOf(scope: object, name: string): Json {
  let own: PropertyDescriptor | undefined;
  try {
    own = Object.getOwnPropertyDescriptor(scope, name);
  } catch {
    return '[not set yet]';
  }
  return own === undefined || !('value' in own) ? '[not set yet]' : plainValue(own.value);
}

function readCall(
  { scopes, ...call }: SentCall,
  objects: readonly object[],
  names: ReadonlySet<string>,
): StoppedCall {
  const values: Record<string, Json> = {};
  const outer: string[] = [];
  for (const [type, index] of scopes) {
    const scope = objects[index] ?? {};
    const isOuter = type === 'closure' || type === 'module' || type === 'this';
    for (const name of type === 'this' ? ['this'] : Object.getOwnPropertyNames(scope)) {
      if (Object.hasOwn(values, name) || name === 'arguments' || (isOuter && !names.has(name))) continue;
      if (Object.keys(values).length >= MOST_VARIABLES) return { ...call, values, outer };
      values[name] = type === 'this' ? plainValue(scope) : variableOf(scope, name);
      if (isOuter) outer.push(name);
    }
  }
  return { ...call, values, outer };
}

export function createValueReader(options: ValueReaderOptions): ValueReader {
  const { tracker, root } = options;
  const isOwnFile = createOwnCode(root);
  let attached: Attached | null = null;
  let waiting: Waiting | null = null;

  const isOurs = (url: string): boolean => isProfilerFile(url) || isMountingFrame(url);
  const isOwn = ({ url }: SentCall): boolean => isOwnFile(filePathOf(url)) && !isOurs(url);
  const debuggerUrl = (): string | undefined => process.getBuiltinModule('node:inspector').url();

  /** Called by the worker while this thread stands still. Returns whether the next throw is to stop it, too. */
  function read(hasThrown: boolean, thrown: unknown, text: string, ...objects: object[]): boolean {
    const before = process.cpuUsage();
    const current = attached;
    // Other requests may throw before the worker has said that it is ready.
    if (current === null) return true;
    const { context, fact } = current;
    if (fact.ended !== null) return false;
    if (fact.stoppedMs() > MOST_STOPS * STOP_MS)
      return end(fact, `The process was paused for ${MOST_STOPS * STOP_MS} ms.`);
    if (debuggerUrl() !== undefined) return end(fact, 'Another debugger was attached.');
    if (context === null || tracker.current() !== context) return true;
    const error = hasThrown ? thrown : passedOn;
    const calls = JSON.parse(text) as SentCall[];
    const own = calls.filter(isOwn).slice(0, MOST_CALLS);
    // What our own code tries, or a library alone.
    if (own.length === 0 || (hasThrown && isOurs(calls[0]?.url ?? ''))) return true;
    if (fact.stops.length >= MOST_STOPS) return end(fact, `It threw more than ${MOST_STOPS} times.`);
    const { names } = current.asked;
    const stop: Stop = {
      error,
      atMs: context.elapsedMs(),
      calls: [],
      isShown: false,
    };
    for (const call of own) {
      // The innermost one is always read. Time that other processes take from this thread does not count.
      if (stop.calls.length > 0 && workedMs(before) > STOP_MS) break;
      stop.calls.push(readCall(call, objects, names));
    }
    if (isObject(error)) current.seen.add(error);
    fact.stops.push(stop);
    return true;
  }

  function end(fact: ValuesFact, why: string): false {
    fact.ended = why;
    return false;
  }

  let passedOn: unknown;

  function stopHere(error: unknown): void {
    if (attached === null || (isObject(error) && attached.seen.has(error))) return;
    passedOn = error;
    // The only way to stop for an error that nobody throws. Without a debugger it does nothing.
    // oxlint-disable-next-line no-debugger
    debugger;
    passedOn = undefined;
  }

  function refusal(): string | null {
    if (options.forbidden !== null) return options.forbidden;
    if (!process.features.inspector) return 'This Node.js has no inspector, so no values can be read.';
    return null;
  }

  function release(current: Attached): void {
    if (attached !== current) return;
    attached = null;
    clearTimeout(current.timer);
    if (current.context !== null) onError.set(current.context, () => undefined);
    void current.worker.terminate();
  }

  async function start(stopped: SharedArrayBuffer): Promise<Worker> {
    const { Worker } = process.getBuiltinModule('node:worker_threads');
    const name = Symbol.for(`express-hindsight.values.${randomBytes(8).toString('hex')}`);
    const expression = `globalThis[Symbol.for(${JSON.stringify(Symbol.keyFor(name))})]`;
    Object.defineProperty(globalThis, name, { value: read, configurable: true });
    let worker: Worker | null = null;
    try {
      const opened = (worker = new Worker(VALUES_WORKER, {
        eval: true,
        name: 'hindsight-values',
        env: {},
        execArgv: [],
        workerData: { stopped, expression, forgetOptimized: !options.measuresCoverage },
      }));
      opened.unref();
      await new Promise<void>((resolve, reject) => {
        const late = setTimeout(() => {
          reject(new Error('the debugger did not start'));
        }, READY_WITHIN_MS);
        opened.once('error', reject).once('message', (message: 'ready' | { error: string }) => {
          clearTimeout(late);
          if (message === 'ready') resolve();
          else reject(new Error(message.error));
        });
      });
      opened.on('error', () => undefined);
      return opened;
    } catch (error) {
      void worker?.terminate();
      throw new Error(`The debugger could not be attached: ${describeError(error).message}.`, {
        cause: error,
      });
    } finally {
      Reflect.deleteProperty(globalThis, name);
    }
  }

  let isStarting = false;

  async function attachFor(asked: ValuesAsked, from: Waiting | null): Promise<Attached> {
    const why =
      refusal() ??
      (debuggerUrl() === undefined
        ? null
        : 'Another debugger is attached to this process, so no values can be read.');
    if (why !== null) throw new Error(why);
    if (attached !== null || isStarting)
      throw new Error('The values of another request are being read. Try again in a moment.');
    isStarting = true;
    try {
      const stopped = new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT);
      const stoppedMs = new Float64Array(stopped);
      const worker = await tracker.unobserved(() => start(stopped));
      const current: Attached = {
        asked,
        fact: { asked, stops: [], stoppedMs: () => stoppedMs[0] ?? 0, ended: null },
        worker,
        header: `values ${randomBytes(12).toString('hex')}`,
        claimed: null,
        waiting: from,
        context: null,
        seen: new WeakSet(),
        timer: setTimeout(() => {
          release(current);
        }, ATTACHED_MS).unref(),
      };
      worker.once('exit', () => {
        release(current);
      });
      return (attached = current);
    } finally {
      isStarting = false;
    }
  }

  return {
    refusal,
    async attach(asked) {
      const current = await attachFor(asked, null);
      return {
        header: current.header,
        release: () => {
          release(current);
        },
      };
    },
    wait(asked) {
      const paths = pathsOf(asked.route);
      if (refusal() === null && paths !== null) waiting = { ...asked, paths, until: Date.now() + WAITS_MS };
    },
    waitsUntil: ({ method, route }) =>
      waiting?.method === method && waiting.route === route && waiting.until > Date.now()
        ? waiting.until
        : null,
    whenReady(req, targetOf) {
      if (waiting === null || attached !== null || isStarting) return null;
      const wanted = waiting;
      if (wanted.until < Date.now()) {
        waiting = null;
        return null;
      }
      const target = req.method === wanted.method ? targetOf(req) : null;
      if (target === null || !wanted.paths.test(pathOf(target))) return null;
      return attachFor(wanted, wanted).then(
        (current) => {
          current.claimed = req;
        },
        (error: unknown) => {
          waiting = null;
          options.warn(describeError(error).message);
        },
      );
    },
    begin(context) {
      if (attached?.context !== null || context.kind !== 'request') return;
      const live = context.first('request')?.live as IncomingMessage | undefined;
      if (live === undefined) return;
      if (live !== attached.claimed && live.headers[HEADER] !== attached.header) return;
      attached.context = context;
      context.add('values', attached.fact);
      onError.set(context, stopHere);
    },
    finish(context) {
      const current = attached;
      if (current === null || current.context !== context) return;
      release(current);
      const failed = context.all('error').length > 0 || (context.first('response')?.status ?? 0) >= 500;
      // One that did not fail shows nothing: the next one may.
      if (current.waiting !== null && !failed) return;
      if (current.waiting === waiting) waiting = null;
      options.onRead(current.asked.of, context.token);
    },
    close() {
      waiting = null;
      if (attached !== null) release(attached);
    },
  };
}
