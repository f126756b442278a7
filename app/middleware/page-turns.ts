/**
 * Error pages in turns: each costs milliseconds, and a flood of them (a scanner, a broken front end) would keep every other request
 * waiting. So each turn of the event loop makes a few, one of a connection after one of the next; while too many wait they are short.
 *
 * libuv accepts one connection in each turn of the event loop, so a turn that accepted one makes no page: others may queue behind it.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { addTo } from '../profiler/group-by.ts';

/** Node publishes each connection that a server of the process accepts. */
const ACCEPTED = 'net.server.socket';

/** Milliseconds of a turn of the event loop that error pages may take. */
const TURN_MS = 1;
/** Milliseconds for which pages wait while connections come in: without an end, a flood of connections would keep pages from being made. */
const YIELD_MS = 20;
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
  /** Connections are no longer noticed. */
  close(): void;
}

export interface PageTurnsOptions {
  turnMs?: number;
  yieldMs?: number;
  mostFull?: number;
  mostWaiting?: number;
  now?: () => number;
}

export function createPageTurns({
  turnMs = TURN_MS,
  yieldMs = YIELD_MS,
  mostFull = MOST_FULL,
  mostWaiting = MOST_WAITING,
  now = () => performance.now(),
}: PageTurnsOptions = {}): PageTurns {
  /** The connection whose turn is next comes first. */
  const lines = new Map<object, SendPage[]>();
  let waiting = 0;
  let spentMs = 0;
  let isScheduled = false;
  /** Whether this turn of the event loop accepted a connection, and since when pages have left all turns to them. */
  let isAccepting = false;
  let acceptingSince: number | null = null;

  function accepted(): void {
    isAccepting = true;
    schedule();
  }
  subscribe(ACCEPTED, accepted);

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

  /** Whether the pages that wait leave this turn to new connections. */
  function leavesTurn(): boolean {
    const leaves = isAccepting && waiting > 0 && now() - (acceptingSince ??= now()) < yieldMs;
    isAccepting = false;
    if (!leaves) acceptingSince = null;
    return leaves;
  }

  function turn(): void {
    isScheduled = false;
    spentMs = 0;
    if (leavesTurn()) {
      schedule();
      return;
    }
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
      addTo(lines, connection ?? {}, send);
      waiting++;
      schedule();
    },
    get waiting() {
      return waiting;
    },
    close() {
      unsubscribe(ACCEPTED, accepted);
    },
  };
}
