/**
 * Errors that end the process, recorded with the request that caused them. Only `uncaughtExceptionMonitor`: it sees uncaught
 * exceptions and unhandled rejections, runs in the context of the failed code, and doesn't change whether the process dies. A
 * rejection that the host's own `unhandledRejection` listener handles doesn't reach it.
 */
import type { ContextTracker } from '../profiler/context.ts';
import { recordError } from './errors-seen.ts';

export interface ProcessErrorObserver {
  close(): void;
}

export function observeProcessErrors({ tracker }: { tracker: ContextTracker }): ProcessErrorObserver {
  function note(error: unknown, origin: NodeJS.UncaughtExceptionOrigin): void {
    const context = tracker.current();
    if (context === undefined) return;
    recordError(context, error, { origin });
  }
  process.on('uncaughtExceptionMonitor', note);
  return {
    close() {
      process.off('uncaughtExceptionMonitor', note);
    },
  };
}
