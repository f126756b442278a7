/** `tail`: asks for the list again and again, and prints requests when they have ended, each once. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, CommandError, readList } from './client.ts';
import type { ListedProfile } from './print.ts';

const EVERY_MS = 1000;
/** A search that takes long is made less often. */
const REST = 10;
/** The most that one page of the list has. */
const MOST_ROWS = 200;
/** Tokens of known requests that are remembered. */
const REMEMBERED = 2000;

export interface TailOptions {
  client: Client;
  filter: string;
  /** Called with ended requests, oldest first. */
  print: (rows: readonly ListedProfile[]) => void;
  /** Called when the application responds, and when it does not. */
  note: (sentence: string) => void;
}

/** Rejects if the application does not respond at first; later it is asked again, because it may restart. */
export async function tail({ client, filter, print, note }: TailOptions): Promise<never> {
  /** Printed, or ended before the first look. */
  const known = new Set<string>();
  /** When the newest request of the first look began, by the application's clock. */
  let since: number | null = null;
  /** Began before, and had not ended. */
  let running = new Set<string>();
  let said = '';

  function remember(rows: readonly ListedProfile[]): void {
    for (const { token } of rows) known.add(token);
    for (const token of known) {
      if (known.size <= REMEMBERED) break;
      known.delete(token);
    }
  }

  async function look(): Promise<void> {
    const { profiles } = await readList(client, { q: filter, limit: MOST_ROWS });
    const ended = profiles.filter(({ state }) => state !== 'running');
    if (since === null) {
      since = Math.max(0, ...profiles.map(({ startedAt }) => startedAt));
      running = new Set(profiles.filter((row) => !ended.includes(row)).map(({ token }) => token));
      remember(ended);
      note('Following new requests; Ctrl C ends it.');
      return;
    }
    const from = since;
    const fresh = ended.filter(
      ({ token, startedAt }) => !known.has(token) && (startedAt >= from || running.has(token)),
    );
    remember(fresh);
    if (fresh.length > 0) print(fresh.toReversed());
    if (said !== '') note('Connected again.');
    said = '';
  }

  for (;;) {
    const begun = performance.now();
    try {
      await look();
    } catch (error) {
      if (since === null) throw error;
      const reason =
        error instanceof CommandError ? error.message.replace(/\.$/, '') : 'The connection broke';
      if (reason !== said) note(`${reason}; connecting again.`);
      said = reason;
    }
    await sleep(Math.max(EVERY_MS, REST * (performance.now() - begun)));
  }
}
