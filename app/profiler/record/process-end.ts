/**
 * Stores profiles when the process ends without `close()`: at an uncaught error and at `exit`. There are no listeners for signals: whoever
 * installs one changes how the application ends. A signal that nobody handles loses what the store had not written yet.
 */
import type { Context } from './context.ts';
import { onProcess } from './process-events.ts';

/** Marks listeners of all profilers in the process, including other copies of this package, and the service's. */
const MARK = Symbol.for('express-hindsight:process-end');

/** Marks a listener of `uncaughtException` after which the process ends. */
export function endsProcess<Listener extends object>(listener: Listener): Listener {
  return Object.assign(listener, { [MARK]: true });
}

export interface End {
  isOver: boolean;
  /** `an uncaught exception`, `exit code 3`. */
  how: string;
  isFailure: boolean;
  /** The request or work that ended it, if one did. */
  by: Context | null;
}

export interface EndedProcess {
  process: string;
  at: number;
  /** `an uncaught exception`, `exit code 3`. */
  how: string;
}

export interface ProcessEnd {
  /** Requests are recorded from now on. Called for each of them. */
  begin(): void;
  close(): void;
}

/** `store` must be synchronous and must not throw. */
export function createProcessEnd(options: {
  store: (end: End) => void;
  current: () => Context | undefined;
}): ProcessEnd {
  const { store, current } = options;
  let begun = false;
  const undo: (() => void)[] = [];
  /** An uncaught error that a listener of the host may have survived. */
  let uncaught: { how: string; by: Context | null } | null = null;

  const onUncaught = (_error: unknown, origin: NodeJS.UncaughtExceptionOrigin): void => {
    const how = origin === 'unhandledRejection' ? 'an unhandled rejection' : 'an uncaught exception';
    uncaught = { how, by: current() ?? null };
    // A domain with a listener sets one: it takes the error, and the process goes on.
    if (process.hasUncaughtExceptionCaptureCallback()) return;
    const listeners = process.listeners('uncaughtException');
    if (listeners.every((listener) => MARK in listener))
      store({ ...uncaught, isOver: listeners.length === 0, isFailure: true });
  };

  const onExit = (code: number): void => {
    const isFailure = code !== 0;
    if (uncaught !== null && isFailure) store({ ...uncaught, isOver: true, isFailure });
    else store({ isOver: true, how: `exit code ${code}`, isFailure, by: current() ?? null });
  };

  return {
    begin() {
      if (begun) return;
      begun = true;
      // After the observer that records the error.
      undo.push(onProcess('uncaughtExceptionMonitor', onUncaught), onProcess('exit', onExit));
    },
    close() {
      begun = true;
      for (const one of undo) one();
    },
  };
}
