/**
 * Error pages in turns: each costs milliseconds, and a flood of them (a scanner, a broken front end) would keep every other request
 * waiting. So each turn of the event loop makes a few, one of a connection after one of the next; while too many wait they are short.
 */

/** Milliseconds of a turn of the event loop that error pages may take: libuv accepts one connection in each turn, so long turns keep new ones out. */
const TURN_MS = 2;
/** While more than this wait, pages are short. */
const MOST_FULL = 100;
/** The context of each that waits takes about 44 KB: beyond this number none waits, which slows down the sender. */
const MOST_WAITING = 600;

/** Sends one page. */
export type SendPage = (isShort: boolean) => void;

export interface PageTurns {
  /** Calls `send`, which must not throw: at once if there is time in this turn, else later. `connection`: null if it is gone. */
  take(connection: object | null, send: SendPage): void;
  readonly waiting: number;
}

export interface PageTurnsOptions {
  turnMs?: number;
  mostFull?: number;
  mostWaiting?: number;
  now?: () => number;
}

export function createPageTurns({
  turnMs = TURN_MS,
  mostFull = MOST_FULL,
  mostWaiting = MOST_WAITING,
  now = () => performance.now(),
}: PageTurnsOptions = {}): PageTurns {
  /** The connection whose turn is next comes first. */
  const lines = new Map<object, SendPage[]>();
  let waiting = 0;
  let spentMs = 0;
  let isScheduled = false;

  function run(send: SendPage, isShort: boolean): void {
    const startedAt = now();
    send(isShort);
    spentMs += now() - startedAt;
    schedule();
  }

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(turn);
  }

  function next(): SendPage | undefined {
    for (const [connection, line] of lines) {
      lines.delete(connection);
      const send = line.shift();
      if (line.length > 0) lines.set(connection, line);
      waiting--;
      return send;
    }
    return undefined;
  }

  function turn(): void {
    isScheduled = false;
    spentMs = 0;
    while (spentMs < turnMs) {
      const isShort = waiting > mostFull;
      const send = next();
      if (send === undefined) return;
      run(send, isShort);
    }
  }

  return {
    take(connection, send) {
      if (waiting === 0 && spentMs < turnMs) {
        run(send, false);
        return;
      }
      if (waiting >= mostWaiting) {
        run(send, true);
        return;
      }
      const key = connection ?? {};
      const line = lines.get(key);
      if (line === undefined) lines.set(key, [send]);
      else line.push(send);
      waiting++;
      schedule();
    },
    get waiting() {
      return waiting;
    },
  };
}
