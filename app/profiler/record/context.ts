/**
 * The record of one running request: facts by kind, limited by count and bytes. Observers add them, panels read them.
 * Code finds its context through AsyncLocalStorage: `run`, never `enterWith`, which leaks into the next request of a keep-alive
 * socket. Each profiler has its own tracker, so two profilers can run in one process.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { type Channel, channel } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { performance } from 'node:perf_hooks';
import { inspect } from 'node:util';
import type { BeyondFacts } from './beyond-limit.ts';
import { epochMs } from './clock.ts';
import { FactList, type Repeating, type Room } from './fact-list.ts';
import type { FactName, Facts } from './facts.ts';
import type { Fate } from './ledger.ts';
import type { SummaryReason } from './recording-limit.ts';

/**
 * `request`: of the application. `error_page`: the rendering of an error, child of its request. `profiler`: the profiler's pages.
 * `job`, `command`: work of the application that no request waits for.
 */
export const PROFILE_KINDS = ['request', 'error_page', 'profiler', 'job', 'command'] as const;
export type ProfileKind = (typeof PROFILE_KINDS)[number];
export type WorkKind = 'job' | 'command';

export function isWork(kind: ProfileKind): kind is WorkKind {
  return kind === 'job' || kind === 'command';
}

/** Bytes of the first facts of a request, as estimated by the observers that add them. */
const MOST_BYTES = 1024 * 1024;

/** Of a fact beside its texts, at least. */
const FACT_BYTES = 100;

const NONE: readonly unknown[] = [];

export interface OwnWork {
  what: 'error page' | 'snapshot';
  from: number;
  to: number;
}

const NO_WORK: readonly OwnWork[] = [];

export interface ContextOptions {
  token: string;
  kind: ProfileKind;
  parent?: string | null;
  summary?: SummaryReason | null;
}

export class Context {
  readonly token: string;
  readonly kind: ProfileKind;
  parent: string | null;
  /** Why only a summary is recorded (recording-limit.ts), without asynchronous work; null: everything is. */
  readonly summary: SummaryReason | null;
  isCutOff = false;
  endedProcess: string | null = null;
  fate: Fate | null = null;
  child: string | null = null;
  readonly startedAt: number;
  readonly #startedMark: number;
  #endedMark: number | null = null;
  #own: OwnWork[] | null = null;
  readonly #facts = new Map<string, FactList>();
  readonly #room: Room = { bytes: MOST_BYTES, used: 0 };
  #awaited: Set<Promise<unknown>> | null = null;
  onLateFact: ((context: Context) => void) | null = null;
  onEnd: ((context: Context) => void) | null = null;
  onStored: ((context: Context) => void) | null = null;
  #layer: object | null = null;
  onLayerChange: ((context: Context) => void) | null = null;

  constructor({ token, kind, parent = null, summary = null }: ContextOptions) {
    this.token = token;
    this.kind = kind;
    this.parent = parent;
    this.summary = summary;
    this.startedAt = epochMs();
    this.#startedMark = performance.now();
  }

  /** Node.js 20 and 22 show the stores of AsyncLocalStorage in each promise and timer that an application prints. */
  [inspect.custom](): string {
    return '[Hindsight]';
  }

  get startMark(): number {
    return this.#startedMark;
  }

  /** Milliseconds since the request started, without Hindsight's own work; monotonic, so never negative. */
  elapsedMs(): number {
    return this.sinceStart(performance.now());
  }

  sinceStart(mark: number): number {
    const sinceMs = mark - this.#startedMark;
    if (this.#own === null) return sinceMs;
    return this.#own.reduce((ms, { from, to }) => ms - Math.max(0, Math.min(mark, to) - from), sinceMs);
  }

  /** Milliseconds until the response finished, without Hindsight's own work; null while it runs. */
  get durationMs(): number | null {
    return this.#endedMark === null ? null : this.sinceStart(this.#endedMark);
  }

  get ownWork(): readonly OwnWork[] {
    return this.#own ?? NO_WORK;
  }

  /** Hindsight works for this request until the returned function is called: that time is not the application's. */
  stopClock(what: OwnWork['what']): () => void {
    const own = (this.#own ??= []);
    if (this.ended || own.at(-1)?.to === Infinity) return () => undefined;
    const work: OwnWork = { what, from: performance.now(), to: Infinity };
    own.push(work);
    return () => {
      if (work.to === Infinity) work.to = performance.now();
    };
  }

  get ended(): boolean {
    return this.#endedMark !== null;
  }

  get layer(): object | null {
    return this.#layer;
  }

  runLayer(layer: object | null): void {
    this.onLayerChange?.(this);
    this.#layer = layer;
  }

  /** The response finished: facts added after this are late, and the profile is stored again. */
  end(): void {
    if (this.#endedMark !== null) return;
    this.#endedMark = performance.now();
    this.onEnd?.(this);
  }

  /** The process ends: nothing more can be recorded. */
  cutOff(): void {
    if (this.ended) return;
    this.isCutOff = true;
    this.end();
  }

  /**
   * Adds a fact. `bytes` is its size in memory, estimated cheaply by the caller (lengths of its long strings). Past the recording limit
   * (fact-list.ts) it returns false: the fact may be kept or only counted, and its place among those of its kind is not final.
   */
  add<N extends FactName>(name: N, fact: Facts[N], bytes = 0, repeating?: Repeating<Facts[N]>): boolean {
    let list = this.#facts.get(name);
    if (list === undefined) this.#facts.set(name, (list = new FactList(this.#room)));
    const isFirst = list.add(fact, bytes + FACT_BYTES, repeating);
    this.changed();
    return isFirst;
  }

  /** Forgets the facts of a kind: what they said turned out otherwise. */
  retract(name: FactName): void {
    this.#facts.delete(name);
    this.changed();
  }

  /** A fact was added, or says more than before: after the end, the profile is stored again. */
  changed(): void {
    if (this.#endedMark !== null) this.onLateFact?.(this);
  }

  /** True, and counts one fact, if the recording limit is reached. For facts that are expensive to make and of which none matters more than others. */
  isFull(name: FactName): boolean {
    const list = this.#facts.get(name);
    if (list?.isFull !== true) return false;
    list.count();
    return true;
  }

  beyond(name: FactName): BeyondFacts | undefined {
    return this.#facts.get(name)?.beyond(() => this.elapsedMs());
  }

  all<N extends FactName>(name: N): readonly Facts[N][] {
    return (this.#facts.get(name)?.all() ?? NONE) as readonly Facts[N][];
  }

  first<N extends FactName>(name: N): Facts[N] | undefined {
    return this.all(name)[0];
  }

  last<N extends FactName>(name: N): Facts[N] | undefined {
    return this.all(name).at(-1);
  }

  get dropped(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const [name, list] of this.#facts) {
      const { count = 0 } = list.beyond(() => this.elapsedMs()) ?? {};
      if (count > 0) counts.set(name, count);
    }
    return counts;
  }

  /** Makes the final profile wait for `fact`, which is read beside the request; the recorder limits the wait. */
  expect(fact: Promise<unknown>): void {
    const awaited = (this.#awaited ??= new Set());
    const settled: Promise<unknown> = fact.then(
      () => awaited.delete(settled),
      () => awaited.delete(settled),
    );
    awaited.add(settled);
  }

  expected(): Promise<unknown> | null {
    if (this.#awaited === null || this.#awaited.size === 0) return null;
    return Promise.allSettled([...this.#awaited]);
  }
}

export interface Slot<T, Of extends object = Context> {
  get(of: Of): T | undefined;
  set(of: Of, value: T): void;
}

/** A symbol property of our own objects: a WeakMap with an entry per request made each minor garbage collection slower. */
export function createSlot<T, Of extends object = Context>(description: string): Slot<T, Of> {
  const name = Symbol(description);
  return {
    get: (of) => (of as Record<symbol, T | undefined>)[name],
    set(of, value) {
      (of as Record<symbol, T>)[name] = value;
    },
  };
}

/** A function throws, and its context is left before whoever catches the error runs. */
export const throwing = channel('express-hindsight:throwing');

/** Without `catch`: to throw an error again gives an uncaught one another line, which Node.js prints. */
export function publishThrow<A extends unknown[], R>(work: (...args: A) => R, ...args: A): R {
  let hasReturned = false;
  try {
    const result = work(...args);
    hasReturned = true;
    return result;
  } finally {
    if (!hasReturned) throwing.publish(undefined);
  }
}

export class ContextTracker {
  readonly #storage = new AsyncLocalStorage<Context | undefined>();
  /** Not a property of the request, which is the application's. Not a Map: see open-list.ts. */
  readonly #opened = new WeakMap<IncomingMessage, Context>();

  open(req: IncomingMessage, context: Context): void {
    this.#opened.set(req, context);
  }

  isOpen(req: IncomingMessage): boolean {
    return this.#opened.has(req);
  }

  forget(req: IncomingMessage): void {
    this.#opened.delete(req);
  }

  /** The context of a request; after its end, only for code that the request started. */
  of(req: IncomingMessage): Context | undefined {
    const opened = this.#opened.get(req);
    if (opened !== undefined) return opened;
    const current = this.current();
    return current?.ended === true && current.first('request')?.rawHeaders === req.rawHeaders
      ? current
      : undefined;
  }

  current(): Context | undefined {
    return this.#storage.getStore();
  }

  observed(): Context | undefined {
    const context = this.current();
    return context?.kind === 'profiler' ? undefined : context;
  }

  run<T>(context: Context | undefined, work: () => T): T {
    return this.#storage.run(context, publishThrow<[], T>, work);
  }

  /** Runs `work` without a context, so that nothing of it is recorded: for the profiler's own queries and renders. */
  unobserved<T>(work: () => T): T {
    return this.#storage.run(undefined, work);
  }

  /** What this channel's `runStores` runs is run in the context that belongs to its message; returns what undoes it. */
  follow(channel: Channel, contextOf: (message: unknown) => Context | null | undefined): () => void {
    channel.bindStore(this.#storage, (message) => {
      try {
        const context = contextOf(message);
        return context === undefined ? this.current() : (context ?? undefined);
      } catch {
        // An uncaught exception of the host otherwise.
        return this.current();
      }
    });
    return () => void channel.unbindStore(this.#storage);
  }

  /** Stops following asynchronous code: on Node 20 and 22 each tracker that was used adds to the cost of every later promise. */
  close(): void {
    this.#storage.disable();
  }

  bindTo<A extends unknown[], R>(context: Context, callback: (...args: A) => R): (...args: A) => R {
    return (...args) => this.#storage.run(context, publishThrow<A, R>, callback, ...args);
  }
}
