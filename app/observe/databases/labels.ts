/**
 * Statements that are sent below a method of an ORM carry its name, and the line that called it: by the time they are sent, the stack
 * has often lost it. Of nested methods the outermost counts: the application called it.
 */
import { callPath } from '../stacks/call-path.ts';
import { type OrmCall, ormCalls } from '../channels/labels.ts';
import { awaitedQueries, runQueries } from '../channels/lazy-query.ts';
import { publishPrisma } from '../channels/prisma.ts';
import type { Origin, QueryRecorder } from './queries.ts';
import { type ObserverParts, subscribeTo } from '../subscribe.ts';

export interface LabelObserverOptions extends ObserverParts {
  queries: QueryRecorder;
}

export function observeLabels({ tracker, findCaller, queries }: LabelObserverOptions): {
  close(): void;
} {
  function callerOf({ stack, caller }: OrmCall): string | null {
    if (caller !== undefined) return caller;
    if (tracker.observed() === undefined || findCaller === undefined) return null;
    return findCaller(stack === undefined ? { isOwn: true } : { stack: stack() });
  }

  ormCalls.bindStore(queries.calls, (call): Origin => {
    const outer = queries.currentCall();
    if (outer !== undefined) return outer;
    const { label, stack, dropped, skipped, otherwise, library } = call as OrmCall;
    const context = tracker.observed();
    if (otherwise !== undefined) return { token: context?.token, label, library, caller: null, otherwise };
    const caller = callerOf(call as OrmCall);
    const from = stack === undefined ? {} : { stack: stack() };
    return {
      token: context?.token,
      label,
      caller,
      dropped,
      skipped,
      path: callPath(context, caller, { findCaller, ...from }),
    };
  });
  const unsubscribe = subscribeTo<OrmCall>(awaitedQueries, (call) => {
    if (tracker.observed() === undefined || queries.currentCall() !== undefined) return;
    const caller = findCaller?.({ isOwn: true }) ?? null;
    if (caller !== null) call.caller = caller;
  });
  const unsubscribeRuns = subscribeTo<OrmCall>(runQueries, (call) => {
    if (tracker.observed() === undefined || queries.currentCall() !== undefined) return;
    call.otherwise = findCaller?.later?.() ?? (() => null);
  });
  const unpublish = publishPrisma();
  return {
    close() {
      unsubscribe();
      unsubscribeRuns();
      unpublish();
      ormCalls.unbindStore(queries.calls);
    },
  };
}
