/**
 * Connects to the database: one try, or retries until it replies.
 *
 * Pauses grow from 0.1 to 1.2 s with jitter, so that processes do not reconnect at the same moment and notice within 2 s that the database is
 * back. A rejected password or a missing database is retried, too: somebody may be fixing it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { withTimeouts, type ConnectionSettings } from '../../database/connection-settings.ts';
import { messageOf } from '../../errors.ts';

const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 1200;
/** Timeouts of a try in milliseconds, used in turn: the short one first, the long one for a slow network. */
const SHORT_TRY = 1500;
const LONG_TRY = 5000;

/** Connects, runs a query and disconnects. Rejects with the error of the driver or the server. */
export async function tryDatabase(
  settings: ConnectionSettings,
  timeoutMs: number,
  question = 'select 1',
): Promise<void> {
  const { Client } = (await import('pg')).default;
  const client = new Client({ ...withTimeouts(settings, timeoutMs), query_timeout: timeoutMs });
  // An error while disconnecting doesn't matter.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query(question);
  } finally {
    // Not awaited, because a hung server would block it.
    client.end().catch(() => undefined);
  }
}

export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return reasonOf(error.errors[0]);
  const text = messageOf(error);
  return text.replace(/\.$/, '');
}

export interface UntilReachedOptions {
  attempt: (timeoutMs: number) => Promise<void>;
  failed: (error: unknown) => number;
  signal: AbortSignal;
}

/** Resolves to true when a try succeeded, to false when aborted. */
export async function untilReached({ attempt, failed, signal }: UntilReachedOptions): Promise<boolean> {
  for (let tries = 0; !signal.aborted; tries++) {
    let least = 0;
    try {
      await attempt(tries % 2 === 0 ? SHORT_TRY : LONG_TRY);
      return !signal.aborted;
    } catch (error) {
      if (signal.aborted) return false;
      least = failed(error);
    }
    const growing =
      Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** Math.min(tries, 10)) * (0.5 + Math.random() / 2);
    await sleep(Math.max(least, growing), undefined, { signal, ref: false }).catch(() => undefined);
  }
  return false;
}
