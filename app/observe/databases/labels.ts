/**
 * Statements that are sent below a method of an ORM carry its name, and the line that called it: by the time they are sent, the stack
 * has often lost it. Of nested methods the outermost counts: the application called it.
 */
import { type OrmCall, ormCalls } from '../channels/labels.ts';
import { awaitedQueries, runQueries } from '../channels/lazy-query.ts';
import { publishPrisma } from '../channels/prisma.ts';
import type { Origin, QueryRecorder } from './queries.ts';
import type { Called } from '../stacks/caller.ts';
import { type ObserverParts, subscribeTo } from '../subscribe.ts';

export interface LabelObserverOptions extends ObserverParts {
  queries: QueryRecorder;
}

export function observeLabels({ tracker, findCaller, queries }: LabelObserverOptions): {
  close(): void;
} {
  function calledBy({ stack, called }: OrmCall): Called | null {
    if (called !== undefined || tracker.observed() === undefined) return called ?? null;
    return findCaller?.called(stack === undefined ? { isOwn: true } : { stack: stack() }) ?? null;
  }

  ormCalls.bindStore(queries.calls, (call): Origin => {
    const outer = queries.currentCall();
    if (outer !== undefined) return outer;
    const { label, dropped, skipped, otherwise, library } = call as OrmCall;
    const from = { token: tracker.observed()?.token, label, caller: null };
    if (otherwise !== undefined) return { ...from, library, otherwise };
    return { ...from, dropped, skipped, ...calledBy(call as OrmCall) };
  });
  const unsubscribe = subscribeTo<OrmCall>(awaitedQueries, (call) => {
    if (tracker.observed() === undefined || queries.currentCall() !== undefined) return;
    const called = queries.calledNow();
    if (called !== null) call.called = called;
  });
  const unsubscribeRuns = subscribeTo<OrmCall>(runQueries, (call) => {
    if (tracker.observed() === undefined || queries.currentCall() !== undefined) return;
    call.otherwise = findCaller?.later() ?? (() => null);
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
