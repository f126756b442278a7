/**
 * The memory of one running request: facts by kind, bounded by count and bytes, appended by observers and read by panels.
 *
 * A context lives from the first byte handled until its profile is final. It is found through AsyncLocalStorage
 * (`run`, never `enterWith`: that leaks into the next request of a keep-alive socket); the tracker is made per
 * profiler, so that two of them can live in one process.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { FactName, Facts } from './facts.ts';

/** `request`: one of the application. `error_page`: the rendering of an error, child of its request. `profiler`: our own pages. */
export type ProfileKind = 'request' | 'error_page' | 'profiler';

export interface ContextLimits {
  /** Entries kept per kind of fact. */
  factsPerKind: number;
  /** Bytes kept over all kinds, as estimated by those who add them. */
  bytes: number;
}

/** Share of its bytes from which on a request takes no more large facts. */
const NEARLY_SPENT = 0.95;

const NONE: readonly unknown[] = [];
const NOTHING_CUT: ReadonlyMap<string, number> = new Map();

const defaultContextLimits: ContextLimits = { factsPerKind: 1000, bytes: 1024 * 1024 };

export interface ContextOptions {
  token: string;
  kind: ProfileKind;
  parent?: string | null;
  /** Sampled out: only its outline is recorded. */
  outline?: boolean;
  limits?: ContextLimits | undefined;
}

export class Context {
  readonly token: string;
  readonly kind: ProfileKind;
  /** Token of the request that this one belongs to. */
  readonly parent: string | null;
  /** Sampled out: its asynchronous work is not followed, and it is stored only where it failed or was slow. */
  readonly outline: boolean;
  /** Token of the error page rendered for this request. */
  child: string | null = null;
  /** Wall clock at the start, milliseconds since 1970. */
  readonly startedAt: number;
  readonly #startedMark: number;
  #endedMark: number | null = null;
  readonly #facts = new Map<string, unknown[]>();
  #cut: Map<string, number> | null = null;
  readonly #limits: ContextLimits;
  #bytes = 0;
  /** Facts are being added that were there before, though nobody had read them. */
  #making = false;
  #awaited: Set<Promise<unknown>> | null = null;
  #later: { names: readonly FactName[]; make: () => void }[] | null = null;
  /** Called when a fact arrives after the end; set by the recorder. */
  onLateFact: ((context: Context) => void) | null = null;
  /** Called when the answer is over; set by the observer that measures until then. */
  onEnd: (() => void) | null = null;
  /** Called when the final profile was handed to the writer; set by the observer that adds to it afterwards. */
  onStored: (() => void) | null = null;
  #layer: object | null = null;
  /** Called before `layer` changes; set by the middleware that attributes changes of the response. */
  onLayerChange: (() => void) | null = null;

  constructor({
    token,
    kind,
    parent = null,
    outline = false,
    limits = defaultContextLimits,
  }: ContextOptions) {
    this.token = token;
    this.kind = kind;
    this.parent = parent;
    this.outline = outline;
    this.#limits = limits;
    this.startedAt = Date.now();
    this.#startedMark = performance.now();
  }

  /** The `performance.now()` of its beginning. */
  get startMark(): number {
    return this.#startedMark;
  }

  /** Milliseconds since the request began; monotonic, so never negative. */
  elapsedMs(): number {
    return performance.now() - this.#startedMark;
  }

  /** Turns a `performance.now()` reading into milliseconds since the request began. */
  sinceStart(mark: number): number {
    return mark - this.#startedMark;
  }

  /** Milliseconds from start to the end of the answer; null while it runs. */
  get durationMs(): number | null {
    return this.#endedMark === null ? null : this.#endedMark - this.#startedMark;
  }

  get ended(): boolean {
    return this.#endedMark !== null;
  }

  /** The router layer whose code runs, or ran last; null where none is known. */
  get layer(): object | null {
    return this.#layer;
  }

  /** From here on `layer` runs. Called by the observer of layers alone. */
  runLayer(layer: object | null): void {
    this.onLayerChange?.();
    this.#layer = layer;
  }

  /** The answer is over: later facts are marked by their time and start a rewrite of the profile. */
  end(): void {
    if (this.#endedMark !== null) return;
    this.#endedMark = performance.now();
    this.onEnd?.();
  }

  /**
   * Appends a fact. `bytes` is what it holds in memory, estimated cheaply by the caller (lengths of its long strings).
   * Returns false, and counts it as cut, where the budget of the request is spent.
   */
  add<N extends FactName>(name: N, fact: Facts[N], bytes = 0): boolean {
    const list = this.#facts.get(name);
    const { factsPerKind, bytes: mostBytes } = this.#limits;
    if ((list?.length ?? 0) >= factsPerKind || this.#bytes + bytes > mostBytes) {
      this.#countCut(name);
      return false;
    }
    if (list === undefined) this.#facts.set(name, [fact]);
    else list.push(fact);
    this.#bytes += bytes;
    if (this.#endedMark !== null && !this.#making) this.onLateFact?.(this);
    return true;
  }

  /** Facts of these kinds are added by `make` when one of them is read first: for what is mostly never read. */
  addLater(names: readonly FactName[], make: () => void): void {
    (this.#later ??= []).push({ names, make });
  }

  #list(name: FactName): unknown[] | undefined {
    if (this.#later !== null) this.#makeLater(name);
    return this.#facts.get(name);
  }

  #makeLater(name: FactName): void {
    const asked = this.#later?.filter(({ names }) => names.includes(name)) ?? [];
    if (asked.length === 0) return;
    this.#later = this.#later?.filter((later) => !asked.includes(later)) ?? null;
    this.#making = true;
    try {
      for (const { make } of asked) make();
    } finally {
      this.#making = false;
    }
  }

  /**
   * True, and counts one as cut, where no more entries of this kind are kept: observers ask before they do the work of
   * making one, so that a flood costs next to nothing.
   */
  isFull(name: FactName): boolean {
    const { factsPerKind, bytes } = this.#limits;
    const spent = this.#bytes > bytes * NEARLY_SPENT;
    if (!spent && (this.#facts.get(name)?.length ?? 0) < factsPerKind) return false;
    this.#countCut(name);
    return true;
  }

  #countCut(name: string): void {
    this.#cut ??= new Map();
    this.#cut.set(name, (this.#cut.get(name) ?? 0) + 1);
  }

  /** All facts of a kind in the order they came; empty where there are none. */
  all<N extends FactName>(name: N): readonly Facts[N][] {
    return (this.#list(name) ?? NONE) as readonly Facts[N][];
  }

  first<N extends FactName>(name: N): Facts[N] | undefined {
    return this.#list(name)?.[0] as Facts[N] | undefined;
  }

  last<N extends FactName>(name: N): Facts[N] | undefined {
    return this.#list(name)?.at(-1) as Facts[N] | undefined;
  }

  /** How many facts of each kind were left out because the budget was spent. */
  get cut(): ReadonlyMap<string, number> {
    return this.#cut ?? NOTHING_CUT;
  }

  /** A fact that is on its way beside the request: the final profile waits for it, within the recorder's bound. */
  expect(fact: Promise<unknown>): void {
    const awaited = (this.#awaited ??= new Set());
    const settled: Promise<unknown> = fact.then(
      () => awaited.delete(settled),
      () => awaited.delete(settled),
    );
    awaited.add(settled);
  }

  /** Settles when all expected facts have; null where none is on its way. */
  expected(): Promise<unknown> | null {
    if (this.#awaited === null || this.#awaited.size === 0) return null;
    return Promise.allSettled([...this.#awaited]);
  }
}

/** What an observer keeps beside one context, until both are gone. */
export interface Slot<T> {
  get(context: Context): T | undefined;
  set(context: Context, value: T): void;
}

/**
 * A place for a value on every context. A WeakMap did the same and made each collection of young objects dearer: one
 * entry per request is a key that the collector has to ask about.
 */
export function createSlot<T>(description: string): Slot<T> {
  const name = Symbol(description);
  return {
    get: (context) => (context as unknown as Record<symbol, T | undefined>)[name],
    set(context, value) {
      (context as unknown as Record<symbol, T>)[name] = value;
    },
  };
}

/** Finds the context of the code that runs now, and that of a request. */
export class ContextTracker {
  readonly #storage = new AsyncLocalStorage<Context | undefined>();
  /** Not a property of the request: on Express's objects that is expensive (decision 14). Not a Map: see open-list.ts. */
  readonly #opened = new WeakMap<IncomingMessage, Context>();

  /** Makes `context` the one of this request, until `forget`. */
  open(req: IncomingMessage, context: Context): void {
    this.#opened.set(req, context);
  }

  isOpen(req: IncomingMessage): boolean {
    return this.#opened.has(req);
  }

  forget(req: IncomingMessage): void {
    this.#opened.delete(req);
  }

  /** The context of a request; after its end only for code that the request started. */
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

  run<T>(context: Context | undefined, work: () => T): T {
    return this.#storage.run(context, work);
  }

  /** Runs `work` unseen: used round the profiler's own queries and renders. */
  unobserved<T>(work: () => T): T {
    return this.#storage.run(undefined, work);
  }

  /** Ties `callback` to the context that is current now. */
  bind<A extends unknown[], R>(callback: (...args: A) => R): (...args: A) => R {
    return AsyncLocalStorage.bind(callback);
  }
}
