/** Subscribes observers to channels. An error in a subscriber would be an uncaught exception of the application. */
import { type Channel, subscribe, type TracingChannel, unsubscribe } from 'node:diagnostics_channel';
import type { ContextTracker } from '../profiler/record/context.ts';
import type { Recorder } from '../profiler/record/recorder.ts';
import type { SummaryReason } from '../profiler/record/recording-limit.ts';
import type { FindCaller } from './stacks/caller.ts';

export interface ObserverParts {
  tracker: ContextTracker;
  findCaller?: FindCaller | undefined;
}

export interface WorkParts extends ObserverParts {
  recorder: Pick<Recorder, 'openWork' | 'finish'>;
  /** Why only a summary of the work is recorded; null: it is recorded in full. */
  summaryReason: () => SummaryReason | null;
}

type Listener<M> = (message: M) => void;

export interface CallListeners<M> {
  start?: Listener<M>;
  end?: Listener<M>;
  asyncStart?: Listener<M>;
  asyncEnd?: Listener<M>;
  error?: Listener<M>;
}

/**
 * For the life of the process: once a channel is collected, Node.js 20 and 22 soon forget another one of the same name, and nobody hears
 * what is published there (nodejs/node#59910).
 */
const held = new Set<Channel>();

export function subscribeTo<M>(channel: Channel, listener: Listener<M>): () => void {
  const guarded = (message: unknown): void => {
    try {
      listener(message as M);
    } catch {
      // Not recorded.
    }
  };
  held.add(channel);
  subscribe(channel.name, guarded);
  return () => {
    unsubscribe(channel.name, guarded);
  };
}

export function subscribeToCalls<M>(channel: TracingChannel, listeners: CallListeners<M>): () => void {
  const undo = (Object.keys(listeners) as (keyof CallListeners<M>)[]).flatMap((name) => {
    const listener = listeners[name];
    return listener === undefined ? [] : [subscribeTo(channel[name], listener)];
  });
  return () => {
    for (const one of undo) one();
  };
}

export function closing(undo: readonly (() => void)[]): { close(): void } {
  return {
    close() {
      for (const one of undo) one();
    },
  };
}
