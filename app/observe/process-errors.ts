/**
 * Errors that end the process, tied to the request whose work they belong to.
 *
 * `uncaughtExceptionMonitor` only: it sees uncaught exceptions and unhandled rejections, runs in the context of the code
 * that failed, and, other than a listener of those two events, changes nothing about whether the process dies. Where the
 * host listens to `unhandledRejection` itself, a rejection is no reason to die and is not seen here.
 */
import type { ContextTracker } from '../profiler/context.ts';

export interface ProcessErrorObserver {
  close(): void;
}

export function observeProcessErrors({ tracker }: { tracker: ContextTracker }): ProcessErrorObserver {
  function note(error: unknown, origin: NodeJS.UncaughtExceptionOrigin): void {
    const context = tracker.current();
    if (context === undefined) return;
    context.add('error', { error, origin, atMs: context.elapsedMs(), status: null });
  }
  process.on('uncaughtExceptionMonitor', note);
  return {
    close() {
      process.off('uncaughtExceptionMonitor', note);
    },
  };
}
