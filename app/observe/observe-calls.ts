/** Calls of a library -> facts with a start, a duration and an error: whatever the library, they are recorded in the same steps. */
import type { TracingChannel } from 'node:diagnostics_channel';
import type { Context } from '../profiler/record/context.ts';
import type { Repeating } from '../profiler/record/fact-list.ts';
import type { FactName, Facts } from '../profiler/record/facts.ts';
import { failureText } from '../profiler/record/thrown-value.ts';
import type { Traced } from './channels/trace.ts';
import type { Called } from './stacks/caller.ts';
import { type ObserverParts, subscribeToCalls } from './subscribe.ts';

interface CallTimes {
  startMs: number;
  durationMs: number | null;
}

type CallName = { [N in FactName]: Facts[N] extends CallTimes ? N : never }[FactName];

export interface RecordedCall<N extends CallName> {
  context: Context;
  fact: Facts[N];
}

type Described<N extends CallName> = Omit<Facts[N], keyof CallTimes>;

export interface CallRecorderOptions<N extends CallName> extends ObserverParts {
  fact: N;
  library?: string | undefined;
  repeating?: Repeating<Facts[N]> | undefined;
}

export interface CallRecorder<N extends CallName> {
  begin(key: object, describe: (called: () => Called, context: Context) => Described<N> | null): void;
  running(key: object): RecordedCall<N> | undefined;
  /** The call goes on under another key. */
  move(from: object, to: object): void;
  /** Only the first end of a call counts; `outcome` adds what it brought. */
  end(key: object, error?: unknown, outcome?: (fact: Facts[N], context: Context) => void): void;
}

export const NOWHERE: Called = { caller: null };

export function bytesOf(value: unknown): number {
  if (typeof value === 'string') return 20 + value.length;
  if (typeof value !== 'object' || value === null) return 10;
  let bytes = 50;
  for (const member of Object.values(value)) bytes += bytesOf(member);
  return bytes;
}

export function createCallRecorder<N extends CallName>({
  tracker,
  findCaller,
  fact: name,
  library,
  repeating,
}: CallRecorderOptions<N>): CallRecorder<N> {
  const recorded = new WeakMap<object, RecordedCall<N>>();
  const called = (): Called => findCaller?.called({ skip: library }) ?? NOWHERE;

  return {
    begin(key, describe) {
      const context = tracker.observed();
      if (context === undefined) return;
      if (repeating === undefined && context.isFull(name)) return;
      const startMs = context.elapsedMs();
      const described = describe(called, context);
      if (described === null) return;
      const fact = { ...described, startMs, durationMs: null } as Facts[N];
      context.add(name, fact, bytesOf(fact), repeating);
      recorded.set(key, { context, fact });
    },
    running: (key) => recorded.get(key),
    move(from, to) {
      const call = recorded.get(from);
      recorded.delete(from);
      if (call !== undefined) recorded.set(to, call);
    },
    end(key, error, outcome) {
      const call = recorded.get(key);
      if (call === undefined) return;
      recorded.delete(key);
      const { context, fact } = call;
      const nowMs = context.elapsedMs();
      if (error !== undefined) Object.assign(fact, { error: failureText(error) });
      outcome?.(fact, context);
      (fact as CallTimes).durationMs ??= nowMs - fact.startMs;
      context.changed();
    },
  };
}

export interface ObservedCalls<M extends Traced, N extends CallName> extends CallRecorderOptions<N> {
  channel: TracingChannel;
  describe(message: M, called: () => Called, context: Context): Described<N> | null;
  outcome?(fact: Facts[N], message: M, context: Context): void;
}

export function observeCalls<M extends Traced, N extends CallName>({
  channel,
  describe,
  outcome,
  ...options
}: ObservedCalls<M, N>): () => void {
  const calls = createCallRecorder(options);
  return subscribeToCalls<M>(channel, {
    start(message) {
      calls.begin(message, (called, context) => describe(message, called, context));
    },
    asyncStart(message) {
      calls.end(message, message.error, (fact, context) => outcome?.(fact, message, context));
    },
  });
}
