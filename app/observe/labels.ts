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
    const { label, stack, dropped, otherwise } = call as OrmCall;
    if (otherwise !== undefined) return { token: tracker.observed()?.token, label, caller: null, otherwise };
    const caller = callerOf(call as OrmCall);
    const from = stack === undefined ? {} : { stack: stack() };
    const context = tracker.observed();
    return {
      token: context?.token,
      label,
      caller,
      dropped,
      path: callPath(context, caller, { findCaller, ...from }),
    };
  });
  const unsubscribe = subscribeTo<OrmCall>(awaitedQueries, (call) => {
    if (tracker.observed() === undefined || queries.currentCall() !== undefined) return;
    const caller = findCaller?.({ isOwn: true }) ?? null;
    if (caller !== null) call.caller = caller;
  });
  const unpublish = publishPrisma();
  return {
    close() {
      unsubscribe();
      unpublish();
      ormCalls.unbindStore(queries.calls);
    },
  };
}
