/** `tail`: follows the stream of the list and prints requests when they have ended, each once. */
import { setTimeout as sleep } from 'node:timers/promises';
import { urls } from '../urls.ts';
import { type Client, CommandError, FAILED, readList } from './client.ts';
import type { ListedProfile } from './print.ts';

const RETRY_MS = 2000;
/** The most that one page of the list has. */
const MOST_ROWS = 200;
/** Tokens remembered: a request is reported when it appears and when it ends. */
const REMEMBERED = 2000;

export interface TailOptions {
  client: Client;
  filter: string;
  /** Called with ended requests, oldest first. */
  print: (rows: readonly ListedProfile[]) => void;
  /** Called when the stream is open, and when it has ended. */
  note: (sentence: string) => void;
}

interface Message {
  /** The newest matching tokens, once, when the stream begins. */
  now?: readonly string[];
  new?: readonly string[];
}

async function* messages(client: Client, filter: string): AsyncGenerator<Message> {
  let unread = '';
  for await (const text of client.stream(urls.live({ q: filter }))) {
    unread += text;
    const whole = unread.split('\n\n');
    unread = whole.pop() ?? '';
    for (const message of whole)
      if (message.startsWith('data: ')) yield JSON.parse(message.slice('data: '.length)) as Message;
  }
}

/** Rejects if the first connection fails; later ones are tried again, because the application may restart. */
export async function tail({ client, filter, print, note }: TailOptions): Promise<never> {
  const printed = new Set<string>();
  /** When the newest request known began, by the application's clock; null before the first connection. */
  let newest: number | null = null;

  function remember(rows: readonly ListedProfile[]): void {
    for (const { token } of rows) printed.add(token);
    for (const token of printed) {
      if (printed.size <= REMEMBERED) break;
      printed.delete(token);
    }
  }

  async function look(isWanted: (row: ListedProfile) => boolean): Promise<void> {
    const { profiles } = await readList(client, { q: filter, limit: MOST_ROWS });
    const ended = profiles.filter(
      (row) => row.state !== 'running' && !printed.has(row.token) && isWanted(row),
    );
    remember(ended);
    if (ended.length > 0) print(ended.toReversed());
    newest = profiles.reduce((latest, { startedAt }) => Math.max(latest, startedAt), newest ?? 0);
  }

  async function receive({ now, new: fresh = [] }: Message): Promise<void> {
    if (now === undefined) {
      await look(({ token }) => fresh.includes(token));
      return;
    }
    const before = newest;
    // Those of the time without a stream.
    await look(({ startedAt }) => before !== null && startedAt > before);
    note(before === null ? 'Following new requests; Ctrl C ends it.' : 'Connected again.');
  }

  let said = '';
  for (;;) {
    try {
      for await (const message of messages(client, filter)) {
        await receive(message);
        said = '';
      }
      throw new CommandError('The stream has ended.', FAILED);
    } catch (error) {
      if (newest === null) throw error;
      const reason =
        error instanceof CommandError ? error.message.replace(/\.$/, '') : 'The connection broke';
      if (reason !== said) note(`${reason}; connecting again.`);
      said = reason;
    }
    await sleep(RETRY_MS);
  }
}
