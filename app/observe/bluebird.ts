/** Callbacks of `bluebird` run in the context that attached them, by the channels of channels/bluebird.ts. */
import type { Context, ContextTracker } from '../profiler/context.ts';
import { bluebirdChannels } from './channels/bluebird.ts';
import type { Origin, QueryRecorder } from './queries.ts';
import { closing, subscribeTo } from './subscribe.ts';

export function observeBluebird({
  tracker,
  queries: { calls },
}: {
  tracker: ContextTracker;
  queries: QueryRecorder;
}): { close(): void } {
  const { attached, called } = bluebirdChannels;
  const attachedIn = new WeakMap<object, { context: Context | null; call: Origin | undefined }>();
  called.bindStore(calls, (callback) => attachedIn.get(callback as object)?.call);
  return closing([
    subscribeTo<object>(attached, (callback) => {
      attachedIn.set(callback, { context: tracker.current() ?? null, call: calls.getStore() });
    }),
    tracker.follow(called, (callback) => attachedIn.get(callback as object)?.context),
    () => {
      called.unbindStore(calls);
    },
  ]);
}
