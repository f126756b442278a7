/**
 * Stores profiles when the process ends without `close()`: at `exit`, and before a signal that nobody handles kills the process.
 * A signal that the host handles when recording begins is not listened to: the host exits by itself, and `exit` stores.
 *
 * The listeners stay until `close`. To attach them only while profiles are queued was tried: libuv drops a signal that arrives just
 * before its last listener is removed, and the host would go on running.
 */

/** They end a process unless it handles them; nodemon restarts by SIGUSR2. On Windows a process can't send itself a signal. */
const SIGNALS: readonly NodeJS.Signals[] =
  process.platform === 'win32' ? [] : ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR2'];

/** Marks the listeners of all profilers in the process, including those of other copies of this package. */
const MARK = Symbol.for('express-hindsight:process-end');

export interface ProcessEnd {
  /** Requests are recorded from now on. Called for each of them. */
  begin(): void;
  close(): void;
}

function isHandledByHost(signal: NodeJS.Signals): boolean {
  return process.listeners(signal).some((listener) => !(MARK in listener));
}

/** `store` must be synchronous and must not throw; `isOver`: no other listener of the signal may let the process go on. */
export function createProcessEnd(store: (end: { isOver: boolean }) => void): ProcessEnd {
  let begun = false;

  function stopListening(): void {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  }

  const onSignal = Object.assign(
    (signal: NodeJS.Signals) => {
      // First: libraries such as signal-exit count the listeners to decide whether the signal ends the process.
      stopListening();
      store({ isOver: process.listenerCount(signal) === 0 });
      if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
    },
    { [MARK]: true },
  );

  const onExit = (): void => {
    store({ isOver: true });
  };
  process.on('exit', onExit);
  return {
    begin() {
      if (begun) return;
      begun = true;
      for (const signal of SIGNALS) if (!isHandledByHost(signal)) process.prependListener(signal, onSignal);
    },
    close() {
      begun = true;
      stopListening();
      process.off('exit', onExit);
    },
  };
}
