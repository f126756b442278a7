/**
 * Statements that are sent below a method of an ORM carry its name, and the line that called it: by the time they are sent, the stack
 * has often lost it. Of nested methods the outermost counts: the application called it.
 */
import { callPath } from './call-path.ts';
import { type OrmCall, ormCalls } from './channels/labels.ts';
import { awaitedQueries } from './channels/lazy-query.ts';
import { publishPrisma } from './channels/prisma.ts';
import type { Origin, QueryRecorder } from './queries.ts';
import { type ObserverParts, subscribeTo } from './subscribe.ts';

export interface LabelObserverOptions extends ObserverParts {
  queries: QueryRecorder;
}

export function observeLabels({ tracker, findCaller, queries: { calls } }: LabelObserverOptions): {
  close(): void;
} {
  function callerOf({ stack, caller }: OrmCall): string | null {
    if (caller !== undefined) return caller;
    if (tracker.observed() === undefined || findCaller === undefined) return null;
    return findCaller(stack === undefined ? { isOwn: true } : { stack: stack() });
  }

  ormCalls.bindStore(calls, (call): Origin => {
    const outer = calls.getStore();
    if (outer !== undefined) return outer;
    const { label, stack, dropped } = call as OrmCall;
    const caller = callerOf(call as OrmCall);
    const from = stack === undefined ? {} : { stack: stack() };
    return { label, caller, dropped, path: callPath(tracker.observed(), caller, { findCaller, ...from }) };
  });
  const unsubscribe = subscribeTo<OrmCall>(awaitedQueries, (call) => {
    if (tracker.observed() === undefined || calls.getStore() !== undefined) return;
    const caller = findCaller?.({ isOwn: true }) ?? null;
    if (caller !== null) call.caller = caller;
  });
  const unpublish = publishPrisma();
  return {
    close() {
      unsubscribe();
      unpublish();
      ormCalls.unbindStore(calls);
    },
  };
}
