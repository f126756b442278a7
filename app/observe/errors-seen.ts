/**
 * The facts `error`: each error of a request once, wherever it is seen. It may be logged, passed to `next`, and then reach our own error
 * page: the fact stores the strongest of these, and the layer it came from. An error that wraps a recorded one replaces it.
 */
import { type Context, type ContextTracker, createSlot, throwing } from '../profiler/record/context.ts';
import type { Repeating } from '../profiler/record/fact-list.ts';
import type { ErrorFact } from '../profiler/record/facts.ts';
import { onProcess } from '../profiler/record/process-events.ts';
import { field, isError, isObject } from '../profiler/record/safe-read.ts';
import { statusOf } from '../profiler/record/thrown-value.ts';
import { closing, subscribeTo } from './subscribe.ts';
import { stopAtError } from './values/values.ts';

const STRENGTH: Readonly<Record<ErrorFact['origin'], number>> = {
  logged: 0,
  'passed on': 1,
  graphql: 2,
  stream: 2,
  late: 2,
  handled: 3,
  work: 3,
  parser: 3,
  unhandledRejection: 4,
  uncaughtException: 4,
};

const LONGEST_CHAIN = 5;

/** What was passed to `next` and is no failure by itself, with the middleware that did: our error page may get it. */
const passedOn = createSlot<{ value: unknown; layer: ErrorFact['layer']; atMs: number }>('passed to next');

export type SeenError = Pick<ErrorFact, 'origin'> & Partial<Pick<ErrorFact, 'status' | 'layer'>>;

/** Whether a value passed to `next` is a failure: some applications pass on a body that way. */
export function isFailure(value: unknown): boolean {
  return isObject(value) && (isError(value) || (statusOf(value) ?? 0) >= 400);
}

function isCausedBy(error: unknown, cause: unknown): boolean {
  let at = error;
  for (let depth = 0; depth < LONGEST_CHAIN; depth++) {
    if (at === cause) return true;
    if (!isObject(at)) return false;
    at = field(at, 'cause');
  }
  return false;
}

export function notePassedOn(context: Context, value: unknown, layer: ErrorFact['layer']): void {
  passedOn.set(context, { value, layer, atMs: context.elapsedMs() });
}

export function recordPassedOn(context: Context): void {
  const passed = passedOn.get(context);
  if (passed === undefined || (context.first('response')?.status ?? 0) < 400) return;
  const { value, layer, atMs } = passed;
  const fact = recordError(context, value, { origin: 'passed on', layer });
  if (fact !== null) fact.atMs = Math.min(fact.atMs, atMs);
}

function passedOnBy(context: Context, value: unknown): ErrorFact['layer'] {
  const passed = passedOn.get(context);
  return passed !== undefined && passed.value === value ? (passed.layer ?? null) : null;
}

const ERROR_BYTES = 2000;
/** Logged ones are many; the response was made of another one. */
const REPEATED: Repeating<ErrorFact> = { key: () => '', failed: ({ origin }) => origin !== 'logged' };

export function recordError(context: Context, error: unknown, seen: SeenError): ErrorFact {
  stopAtError(context, error);
  const { origin, status = null } = seen;
  const layer = seen.layer ?? passedOnBy(context, error);
  const known = context.all('error').find((fact) => isCausedBy(error, fact.error));
  if (known === undefined) {
    const fact: ErrorFact = { error, atMs: context.elapsedMs(), origin, status, layer };
    context.add('error', fact, ERROR_BYTES, REPEATED);
    return fact;
  }
  known.error = error;
  known.layer ??= layer;
  if (STRENGTH[origin] > STRENGTH[known.origin]) {
    // The time shows what came after the response.
    if (known.origin === 'logged' || STRENGTH[origin] === STRENGTH.unhandledRejection)
      known.atMs = context.elapsedMs();
    known.origin = origin;
    known.status = status;
    context.changed();
  }
  return known;
}

/** The error among what a logger was given: itself, or as `err` or `error`. */
export function loggedErrorOf(args: readonly unknown[]): object | null {
  for (const value of args) {
    if (!isObject(value)) continue;
    const found = [value, field(value, 'err'), field(value, 'error')].find(
      (one) => isObject(one) && isError(one),
    );
    if (isObject(found)) return found;
  }
  return null;
}

/**
 * Errors that end the process, recorded with the request that caused them. Only `uncaughtExceptionMonitor`: it sees uncaught
 * exceptions and unhandled rejections, runs in the context of the failed code, and doesn't change whether the process dies. A
 * rejection that the host's own `unhandledRejection` listener handles doesn't reach it.
 */
export function observeProcessErrors({ tracker }: { tracker: ContextTracker }): { close(): void } {
  let thrownIn: Context | undefined;

  /** A callback or a listener may run in another context than the code below it: that of its connection, for example. */
  function noteThrowing(): void {
    if (thrownIn !== undefined) return;
    thrownIn = tracker.current();
    // Until then, the error has been caught, or has reached the process.
    queueMicrotask(() => {
      thrownIn = undefined;
    });
  }

  function note(error: unknown, origin: NodeJS.UncaughtExceptionOrigin): void {
    const context = (origin === 'uncaughtException' ? thrownIn : undefined) ?? tracker.current();
    if (context !== undefined) recordError(context, error, { origin });
  }

  return closing([subscribeTo(throwing, noteThrowing), onProcess('uncaughtExceptionMonitor', note)]);
}
