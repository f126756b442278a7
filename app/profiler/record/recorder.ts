/**
 * The life of a profile: opens contexts, takes snapshots of running ones, and passes the final profile to the writer when the
 * response has finished. Nothing here throws: a failure of the profiler is a warning and a counter.
 */
import { createProfileBuilder, type ProfileBuilderOptions } from './build-profile.ts';
import { type Conclude, createConclude, type SharedValue } from '../read/conclude.ts';
import { dropOldest } from '../drop-oldest.ts';
import type { FindingRule } from '../read/finding-rule.ts';
import {
  type Context,
  type ProfileKind,
  type WorkKind,
  Context as RequestContext,
  type ContextOptions,
} from './context.ts';
import { createLedger, type Fate, type Ledger } from './ledger.ts';
import type { WorkFact } from './facts.ts';
import { createOpenList } from './open-list.ts';
import type { Profile, ProfileDocument } from '../profile.ts';
import { indexOf, type ProfileIndex } from '../store/profile-index.ts';
import { createRecordingLimit, type RecordingLimit, type SummaryReason } from './recording-limit.ts';
import { createSharedParts } from './shared-parts.ts';
import type { SharedPart } from '../store/storage.ts';
import type { StoredText } from './summary.ts';

const REMEMBERED = 32;
const MOST_ROUTES = 500;
/** With fewer requests nothing is usual. */
const FEWEST = 5;

export interface RouteTimes {
  /** Milliseconds: the median of the route's latest requests; null if there are too few. */
  usualMs(route: string): number | null;
  /** Counted once for each token: a profile may be built several times. */
  add(route: string, token: string, durationMs: number): void;
}

interface Times {
  latest: number[];
  count: number;
  token: string;
}

export function createRouteTimes(): RouteTimes {
  const routes = new Map<string, Times>();
  return {
    usualMs(route) {
      const { latest = [] } = routes.get(route) ?? {};
      if (latest.length < FEWEST) return null;
      return latest.toSorted((a, b) => a - b)[Math.floor(latest.length / 2)] ?? null;
    },
    add(route, token, durationMs) {
      const known = routes.get(route);
      if (known === undefined) {
        if (routes.size < MOST_ROUTES) routes.set(route, { latest: [durationMs], count: 1, token });
      } else if (known.token !== token) {
        known.latest[known.count++ % REMEMBERED] = durationMs;
        known.token = token;
      }
    },
  };
}

const EXPECTED_FACTS_WAIT = 300;
const MOST_INTERNAL = 50;
const MOST_PAGES = 10;
/** Milliseconds after a late fact before the profile is stored again with all late facts until then. */
const LATE_QUIET = 200;
const LATE_WINDOW = 10_000;
/** Milliseconds before an unfinished request is stored as running: if its process is killed, this is what remains. */
const RUNNING_AFTER = 500;
const LOOK_EVERY = 100;
const LONGEST_TURN = 4;
/** With more finished responses than this, all others wait until their profiles are built: each keeps all of its request in memory. */
const MOST_UNBUILT = 100;

export interface RecorderOptions extends Omit<ProfileBuilderOptions, 'sharedParts' | 'usualMs'> {
  rules?: readonly FindingRule[];
  nextToken: () => string;
  /** Token of a request that is not recorded, because recording is paused; default: as of any other. */
  nextUnrecorded?: () => string;
  limit?: RecordingLimit;
  /** Receives a profile to store and its shared parts; never throws. */
  write: (profile: StoredText, shared: readonly SharedPart[], fate?: Fate) => void;
  ledger?: Ledger;
}

export interface Recorder {
  open(kind: ProfileKind, parent?: Context): Context;
  openWork(
    kind: WorkKind,
    work: WorkFact & { parent?: string | null; summary?: SummaryReason | null },
  ): Context;
  openSummary(reason: SummaryReason): Context;
  openInternal(): Context;
  running(token: string): Context | undefined;
  runningContexts(): Iterable<Context>;
  /** The profile as it is now, masked; with `shown`, only these panels and no findings. Never throws. */
  snapshot(context: Context, shown?: readonly string[]): Profile;
  /** For readers: the host's requests run between rules and panels. */
  snapshotInTurns(context: Context): Promise<Profile>;
  /** Its row in a list, as it is now; with `isHeadOnly`, which costs less, without what panels count and rules find. */
  indexOf(context: Context, isHeadOnly?: boolean): Promise<ProfileIndex>;
  mask<T>(context: Context, late: T): T;
  maskReport<T>(token: string, late: T): T;
  readonly conclude: Conclude;
  sharedOf(id: string): SharedValue | undefined;
  finish(context: Context): void;
  storeOpen(end: { isOver: boolean }): void;
  /** Stores every open profile, those that run as cut off; nothing is stored after this. */
  close(): void;
}

export function createRecorder(options: RecorderOptions): Recorder {
  const { panels, rules = [], redactor, nextToken, nextUnrecorded = nextToken, write, warn } = options;
  const { ledger = createLedger() } = options;
  const limit = options.limit ?? createRecordingLimit({ fullPerSecond: Infinity, sampleRate: 1 });
  const sharedParts = createSharedParts(redactor);
  const times = createRouteTimes();
  const conclude = createConclude(panels, rules, warn);
  const { build, mask } = createProfileBuilder({
    panels,
    redactor,
    sharedParts,
    usualMs: ({ method, route }) => (route === null ? null : times.usualMs(`${method} ${route}`)),
    process: options.process,
    release: options.release,
    warn,
  });
  /** A list: searches by token are so rare that a Map would cost more per request than the search. */
  const contexts = createOpenList<Context>();
  const unfinished = createOpenList<Context>();
  const timers = new Map<Context, NodeJS.Timeout>();
  const internal = new Map<string, Context>();
  /** Pages with the toolbar, whose browser may report something, the newest last. */
  const pages = new Map<string, Context>();
  let ended: Context[] = [];
  let look: NodeJS.Timeout | null = null;
  let closed = false;

  /** Nothing is stored of requests while recording is paused, and of the toolbar's requests unless they fail. */
  function isDiscarded(context: Context): boolean {
    const { summary } = context;
    return summary === 'paused' || (summary === 'toolbar' && (context.first('response')?.status ?? 0) < 500);
  }

  function leaveOut({ fate, kind }: Context): void {
    if (fate !== null)
      ledger.leftOut(fate, kind === 'profiler' ? 'asked by the toolbar' : 'recording paused');
  }

  function store(context: Context, state: Profile['state']): void {
    if (isDiscarded(context)) {
      if (context.ended) leaveOut(context);
      return;
    }
    const built = build(context, state);
    // Findings come when somebody reads (labels.ts).
    const findings = conclude.isExamined(built.document) ? null : [];
    const row = indexOf({ ...built, findings });
    const text = context.summary === null ? JSON.stringify(built.document) : '';
    write({ row, text }, built.shared, context.fate ?? undefined);
    noteTime(built.document);
    if (state === 'final') context.onStored?.(context);
  }

  const sharedOf = (id: string): SharedValue | undefined => sharedParts.valueOf(id);

  function noteTime({ method, route, state, status, durationMs, token }: ProfileDocument): void {
    if (state !== 'final' || route === undefined || route === null) return;
    if (typeof durationMs !== 'number' || (status ?? 500) >= 400) return;
    times.add(`${method} ${route}`, token, durationMs);
  }

  function clearTimer(context: Context): void {
    if (timers.size === 0) return;
    clearTimeout(timers.get(context));
    timers.delete(context);
  }

  function later(context: Context, delay: number, work: () => void): void {
    clearTimer(context);
    timers.set(
      context,
      setTimeout(() => {
        timers.delete(context);
        work();
      }, delay).unref(),
    );
  }

  /** One timer for all requests: a timer per request costs more than most responses. */
  function lookForLong(): void {
    for (const context of unfinished) {
      if (context.elapsedMs() < RUNNING_AFTER) continue;
      unfinished.delete(context);
      store(context, 'running');
    }
    if (unfinished.size > 0 || look === null) return;
    clearInterval(look);
    look = null;
  }

  function storeLate(context: Context): void {
    const since = context.elapsedMs() - (context.durationMs ?? 0);
    // After `close` nothing stores it; the profile itself is stored.
    if (!closed && since < LATE_WINDOW && !timers.has(context))
      later(context, LATE_QUIET, () => {
        store(context, 'final');
      });
  }

  function forget(context: Context): void {
    contexts.delete(context);
    context.onLateFact = storeLate;
    if (context.first('toolbar')?.absent !== null) return;
    pages.set(context.token, context);
    dropOldest(pages, MOST_PAGES);
  }

  /** Not listed, but its token opens. */
  function rememberInternal(context: Context): void {
    internal.set(context.token, context);
    dropOldest(internal, MOST_INTERNAL);
  }

  function settle(context: Context): void {
    if (!contexts.has(context)) return;
    clearTimer(context);
    store(context, 'final');
    forget(context);
  }

  /** After pending I/O, so that building a profile never delays the last bytes of a response. */
  function settleSoon(context: Context): void {
    if (ended.length === 0) setImmediate(settleEnded);
    ended.push(context);
  }

  function settleEnded(): void {
    const until = performance.now() + LONGEST_TURN;
    let done = 0;
    for (const context of ended) {
      settle(context);
      done++;
      if (performance.now() > until && ended.length - done <= MOST_UNBUILT) break;
    }
    ended = done === ended.length ? [] : ended.slice(done);
    if (ended.length > 0) setImmediate(settleEnded);
  }

  function storeOpen({ isOver }: { isOver: boolean }): void {
    for (const context of timers.keys()) if (context.ended && !contexts.has(context)) store(context, 'final');
    for (const context of contexts) {
      // Nobody will look up a running page or event stream of the profiler.
      if (!context.ended && context.kind === 'profiler') continue;
      if (isOver) context.cutOff();
      store(context, context.ended ? 'final' : 'running');
    }
  }

  function create(given: ContextOptions, isOwn = given.kind === 'profiler'): Context {
    const context = new RequestContext(given);
    context.fate = ledger.open(isOwn ? 'profiler' : 'application');
    contexts.add(context);
    // A page of the profiler that goes on for long is an event stream.
    if (given.kind !== 'profiler') {
      unfinished.add(context);
      look ??= setInterval(lookForLong, LOOK_EVERY).unref();
    }
    return context;
  }

  return {
    open(kind, parent) {
      // While recording is paused the profile is not stored, and this token says so.
      const token = kind !== 'profiler' && limit.isPaused() ? nextUnrecorded() : nextToken();
      const isOwn = kind === 'profiler' || parent?.kind === 'profiler';
      // An error page is recorded like its request.
      const summary = parent?.summary ?? null;
      const context = create({ token, kind, parent: parent?.token ?? null, summary }, isOwn);
      if (parent !== undefined) parent.child = context.token;
      return context;
    },
    openWork(kind, { parent = null, summary = null, label, name }) {
      const token = limit.isPaused() ? nextUnrecorded() : nextToken();
      const context = create({ token, kind, parent, summary });
      context.add('work', { label, name }, name.length);
      return context;
    },
    openSummary: (summary) =>
      create({ token: summary === 'paused' ? nextUnrecorded() : nextToken(), kind: 'request', summary }),
    openInternal: () => create({ token: nextToken(), kind: 'profiler', summary: 'toolbar' }),
    running: (token) => contexts.find((context) => context.token === token) ?? internal.get(token),
    runningContexts: () => contexts,
    snapshot(context, shown) {
      const goOn = context.stopClock('snapshot');
      try {
        const { document } = build(context, context.ended ? 'final' : 'running', { shown });
        return conclude(document, { sharedOf, shown });
      } finally {
        goOn();
      }
    },
    snapshotInTurns(context) {
      const { document } = build(context, context.ended ? 'final' : 'running');
      return conclude.inTurns(document, { sharedOf });
    },
    async indexOf(context, isHeadOnly = false) {
      const built = build(context, context.ended ? 'final' : 'running', { isHeadOnly });
      const findings = isHeadOnly ? null : await conclude.findingsInTurns(built.document, { sharedOf });
      return indexOf({ ...built, findings });
    },
    mask,
    maskReport(token, late) {
      const context = pages.get(token);
      return context === undefined ? redactor.tree(late).value : mask(context, late);
    },
    conclude,
    sharedOf,
    finish(context) {
      context.end();
      unfinished.delete(context);
      const expected = context.expected();
      if (expected === null) {
        // No profile is built, so there is nothing to wait for.
        if (isDiscarded(context)) {
          leaveOut(context);
          forget(context);
          if (context.summary === 'toolbar') rememberInternal(context);
        } else {
          settleSoon(context);
        }
        return;
      }
      later(context, EXPECTED_FACTS_WAIT, () => {
        settle(context);
      });
      void expected.then(() => {
        clearTimer(context);
        if (contexts.has(context)) settleSoon(context);
      });
    },
    storeOpen,
    close() {
      closed = true;
      if (look !== null) clearInterval(look);
      look = null;
      storeOpen({ isOver: true });
      for (const context of [...timers.keys()]) clearTimer(context);
      contexts.clear();
    },
  };
}
