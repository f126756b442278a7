/**
 * The life of a request's profile: opens contexts, takes snapshots of running ones, makes the final profile when the
 * answer is over and hands it to the writer.
 *
 * Nothing here throws outward: a failure of the profiler is a warning and a counter, never the host's problem.
 */
import { createProfileBuilder } from './build-profile.ts';
import { completeProfile, type SharedValue } from './complete-profile.ts';
import type { Context, ProfileKind } from './context.ts';
import { Context as RequestContext, type ContextLimits, type ContextOptions } from './context.ts';
import type { FindingRule } from './finding-rule.ts';
import { createOpenList } from './open-list.ts';
import type { Panel } from './panel.ts';
import type { Profile, ProfileDocument } from './profile.ts';
import { indexOf, type ProfileIndex } from './profile-index.ts';
import type { Redactor } from './redact.ts';
import { createSampler, type Sampler } from './sampling.ts';
import { createSharedParts } from './shared-parts.ts';
import type { SharedPart, StoredProfile } from './storage.ts';

/** Milliseconds the final profile waits for facts that are on their way beside the request. */
const EXPECTED_FACTS_WAIT = 300;
/** Questions of the toolbar that stay readable: it asks so often that it would drive out the pages that somebody opened. */
const MOST_OWN = 50;
/** Milliseconds of quiet after late facts before the profile is written again. */
const LATE_QUIET = 200;
/** Milliseconds after its end in which a request may still add facts. */
const LATE_WINDOW = 10_000;
/** Milliseconds after its headers when a request that still runs is written as running. */
const RUNNING_AFTER = 400;
/** Milliseconds between two looks for such requests. */
const LOOK_EVERY = 100;
/** Milliseconds for which profiles are built before the loop gets a turn. */
const LONGEST_TURN = 4;
/**
 * Profiles are built several at a time, at the latest after so many milliseconds: what builds them then lies in the
 * processor's caches, which halves the price. More at a time would outlive more collections of young objects.
 */
const BUILT_TOGETHER = 12;
const BUILT_WITHIN = 5;

export interface RecorderOptions {
  panels: readonly Panel[];
  /** What findings are made by, beside those of panels. */
  rules?: readonly FindingRule[];
  redactor: Redactor;
  nextToken: () => string;
  /** Token of a request that is sampled out; default: like any other. */
  nextSampledOut?: () => string;
  /** Default: every request is recorded in full. */
  sampler?: Sampler;
  /** Takes a profile for storing, and what it shares with others; never throws. */
  write: (profile: StoredProfile, shared: readonly SharedPart[]) => void;
  /** Which process records: shown and filtered by. */
  process: string;
  limits?: ContextLimits | undefined;
  warn: (sentence: string) => void;
}

export interface Recorder {
  open(kind: ProfileKind, parent?: Context): Context;
  /** Opens one that is sampled out. */
  openOutline(): Context;
  /** Opens one for a question of the toolbar: never stored unless it fails, the newest stay readable in this process. */
  openOwn(): Context;
  /** A running context by its token. */
  running(token: string): Context | undefined;
  runningContexts(): Iterable<Context>;
  /** The profile as it is now, masked; with `shown`, a profile of these panels alone, and no findings. Never throws. */
  snapshot(context: Context, shown?: readonly string[]): Profile;
  /** Its line in a list, as it is now. */
  indexOf(context: Context): ProfileIndex;
  /** A late fact of a request, masked as its profile is. */
  mask<T>(context: Context, late: T): T;
  /** What pages see of a stored document; `shared` has what this process does not know. */
  complete(document: ProfileDocument, shared: ReadonlyMap<string, SharedValue>): Profile;
  /** What profiles of this process share, by its id. */
  sharedOf(id: string): SharedValue | undefined;
  /** The headers are out: from here on a request that goes on for long is stored as running. */
  headersSent(context: Context): void;
  /** The answer is over. */
  finish(context: Context): void;
  /** Makes every open profile final, at once. */
  close(): void;
}

export function createRecorder(options: RecorderOptions): Recorder {
  const { panels, rules = [], redactor, nextToken, nextSampledOut = nextToken, write, warn } = options;
  const sampler = options.sampler ?? createSampler({ rate: 1, slowMs: Infinity });
  const sharedParts = createSharedParts(redactor);
  const { build, mask, isSampledOut } = createProfileBuilder({
    panels,
    rules,
    redactor,
    sampler,
    sharedParts,
    process: options.process,
    warn,
  });
  /** Searched by token, which few ask for: a table would cost each request more than the search does. */
  const contexts = createOpenList<Context>();
  /** Those whose headers are out. */
  const answering = createOpenList<Context>();
  const timers = new Map<Context, NodeJS.Timeout>();
  /** Ended questions of the toolbar, the newest last. */
  const own = new Map<string, Context>();
  let ended: Context[] = [];
  let look: NodeJS.Timeout | null = null;
  let turn: NodeJS.Timeout | null = null;
  let closed = false;

  function store(context: Context, state: Profile['state']): void {
    if (isSampledOut(context)) return;
    const built = build(context, state);
    write({ index: indexOf({ ...built, context }), document: JSON.stringify(built.document) }, built.shared);
    if (state === 'final') context.onStored?.();
  }

  function complete(
    document: ProfileDocument,
    shared: ReadonlyMap<string, SharedValue>,
    shown?: readonly string[],
  ): Profile {
    return completeProfile(document, {
      panels,
      ...(shown === undefined ? {} : { shown }),
      sharedOf: (id) => sharedParts.valueOf(id) ?? shared.get(id),
    });
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

  /** One timer for all: a request of its own each would cost more than most answers take. */
  function lookForLong(): void {
    for (const context of answering) {
      const sinceMs = context.first('response')?.headersAtMs ?? 0;
      if (context.elapsedMs() - sinceMs < RUNNING_AFTER) continue;
      answering.delete(context);
      store(context, 'running');
    }
    if (answering.size > 0 || look === null) return;
    clearInterval(look);
    look = null;
  }

  function storeLate(context: Context): void {
    const since = context.elapsedMs() - (context.durationMs ?? 0);
    // What comes when the end has begun has nobody left to store it; the profile itself is stored.
    if (!closed && since < LATE_WINDOW && !timers.has(context))
      later(context, LATE_QUIET, () => {
        store(context, 'final');
      });
  }

  function forget(context: Context): void {
    contexts.delete(context);
    context.onLateFact = storeLate;
  }

  /** Out of the way of those who run, and of every list; its token still opens. */
  function keepOwn(context: Context): void {
    own.set(context.token, context);
    const [oldest] = own.keys();
    if (own.size > MOST_OWN && oldest !== undefined) own.delete(oldest);
  }

  function settle(context: Context): void {
    if (!contexts.has(context)) return;
    clearTimer(context);
    store(context, 'final');
    forget(context);
  }

  /** After the sockets' own work, so that building a profile never delays the last bytes of an answer. */
  function awaitTurn(): void {
    if (ended.length === BUILT_TOGETHER) setImmediate(settleEnded);
    else if (ended.length === 1) turn ??= setTimeout(settleEnded, BUILT_WITHIN);
  }

  function settleEnded(): void {
    if (turn !== null) clearTimeout(turn);
    turn = null;
    const until = performance.now() + LONGEST_TURN;
    let done = 0;
    for (const context of ended) {
      settle(context);
      done++;
      if (performance.now() > until) break;
    }
    ended = done === ended.length ? [] : ended.slice(done);
    if (ended.length > 0) setImmediate(settleEnded);
  }

  function create(given: ContextOptions): Context {
    const context = new RequestContext({ ...given, limits: options.limits });
    contexts.add(context);
    return context;
  }

  return {
    open(kind, parent) {
      // A token that is known to name no profile, where none will be stored.
      const token = kind !== 'profiler' && sampler.isPaused() ? nextSampledOut() : nextToken();
      // The error page of what is kept apart is kept apart with it.
      const outline = parent?.kind === 'profiler' && parent.outline;
      const context = create({ token, kind, parent: parent?.token ?? null, outline });
      if (parent !== undefined) parent.child = context.token;
      return context;
    },
    openOutline: () => create({ token: nextSampledOut(), kind: 'request', outline: true }),
    openOwn: () => create({ token: nextToken(), kind: 'profiler', outline: true }),
    running: (token) => contexts.find((context) => context.token === token) ?? own.get(token),
    runningContexts: () => contexts,
    snapshot(context, shown) {
      const { document } = build(context, context.ended ? 'final' : 'running', shown);
      return complete(document, new Map(), shown);
    },
    indexOf(context) {
      return indexOf({ ...build(context, context.ended ? 'final' : 'running'), context });
    },
    mask,
    complete: (document, shared) => complete(document, shared),
    sharedOf: (id) => sharedParts.valueOf(id),
    headersSent(context) {
      // An own page that goes on is a stream of our own, and no news.
      if (context.ended || context.kind === 'profiler') return;
      answering.add(context);
      look ??= setInterval(lookForLong, LOOK_EVERY).unref();
    },
    finish(context) {
      context.end();
      answering.delete(context);
      const expected = context.expected();
      if (expected === null) {
        // Nothing is built of it, so nothing has to wait.
        if (isSampledOut(context)) {
          forget(context);
          if (context.kind !== 'request') keepOwn(context);
        } else {
          ended.push(context);
          awaitTurn();
        }
        return;
      }
      later(context, EXPECTED_FACTS_WAIT, () => {
        settle(context);
      });
      void expected.then(() => {
        settle(context);
      });
    },
    close() {
      closed = true;
      if (look !== null) clearInterval(look);
      if (turn !== null) clearTimeout(turn);
      look = turn = null;
      for (const context of [...timers.keys()]) {
        if (context.ended && !contexts.has(context)) store(context, 'final');
        clearTimer(context);
      }
      for (const context of contexts) {
        // A page of ours that is being shown, or a stream of one, is nothing to come back to.
        if (context.ended || context.kind !== 'profiler') store(context, context.ended ? 'final' : 'running');
      }
      contexts.clear();
    },
  };
}
