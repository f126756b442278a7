/**
 * Stores profiles when the process ends without `close()`: at an uncaught error, at `exit`, and before a signal that nobody handles kills
 * the process. A signal that the host handles when recording begins is not listened to: the host exits by itself, and `exit` stores.
 *
 * The listeners stay until `close`. To attach them only while profiles are queued was tried: libuv drops a signal that arrives just
 * before its last listener is removed, and the host would go on running.
 */
import type { Context } from './context.ts';

/** They end a process unless it handles them; nodemon restarts by SIGUSR2. On Windows a process can't send itself a signal. */
const SIGNALS: readonly NodeJS.Signals[] =
  process.platform === 'win32' ? [] : ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR2'];

/** Marks listeners that end the process: those of all profilers in it, including other copies of this package, and the service's. */
const MARK = Symbol.for('express-hindsight:process-end');

/** Marks a listener of `uncaughtException` after which the process ends. */
export function endsProcess<Listener extends object>(listener: Listener): Listener {
  return Object.assign(listener, { [MARK]: true });
}

export interface End {
  /** Nothing else runs in this process: what is open is cut off. */
  isOver: boolean;
  /** The profiler will be closed: what stores now need not wait for the storage. */
  isDrained?: boolean;
  /** `an uncaught exception`, `exit code 3`, `SIGTERM`. */
  how: string;
  /** By an error, or with another exit code than 0. */
  isFailure: boolean;
  /** The request or work that ended it, if one did. */
  by: Context | null;
}

export interface ProcessEndOptions {
  /** Must be synchronous and must not throw. */
  store: (end: End) => void;
  current: () => Context | undefined;
  /** False: a signal costs nothing that outlives the process. Listening would keep it from ending a blocked event loop. */
  signals: boolean;
}

export interface ProcessEnd {
  /** Requests are recorded from now on. Called for each of them. */
  begin(): void;
  close(): void;
}

function isHandledByHost(signal: NodeJS.Signals): boolean {
  return process.listeners(signal).some((listener) => !(MARK in listener));
}

export function createProcessEnd({ store, current, signals }: ProcessEndOptions): ProcessEnd {
  let begun = false;
  /** An uncaught error that a listener of the host may have survived. */
  let uncaught: { how: string; by: Context | null } | null = null;

  function stopListening(): void {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  }

  const onSignal = endsProcess((signal: NodeJS.Signals) => {
    // First: libraries such as signal-exit count the listeners to decide whether the signal ends the process.
    stopListening();
    const isOver = process.listenerCount(signal) === 0;
    store({ isOver, how: signal, isFailure: false, by: null });
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
  });

  const onUncaught = (_error: unknown, origin: NodeJS.UncaughtExceptionOrigin): void => {
    const how = origin === 'unhandledRejection' ? 'an unhandled rejection' : 'an uncaught exception';
    uncaught = { how, by: current() ?? null };
    const listeners = process.listeners('uncaughtException');
    if (listeners.every((listener) => MARK in listener))
      store({
        ...uncaught,
        isOver: listeners.length === 0,
        isDrained: listeners.length > 0,
        isFailure: true,
      });
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
      process.on('uncaughtExceptionMonitor', onUncaught);
      process.on('exit', onExit);
      if (!signals) return;
      for (const signal of SIGNALS) if (!isHandledByHost(signal)) process.prependListener(signal, onSignal);
    },
    close() {
      begun = true;
      stopListening();
      process.off('uncaughtExceptionMonitor', onUncaught);
      process.off('exit', onExit);
    },
  };
}
