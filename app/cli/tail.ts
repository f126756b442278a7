/** `tail`: follows the stream of the list and prints requests when they have ended. */
import { setTimeout as sleep } from 'node:timers/promises';
import { urls } from '../urls.ts';
import type { Client } from './client.ts';
import type { ListedProfile } from './print.ts';

const RETRY_MS = 2000;
/** The most that one page of the list has. */
const MOST_ROWS = 200;

export interface TailOptions {
  client: Client;
  filter: string;
  /** Called with ended requests, oldest first. */
  print: (rows: readonly ListedProfile[]) => void;
  /** Called when the stream is open, and when it has ended. */
  note: (sentence: string) => void;
}

/** New tokens, message by message; those that were there before only begin the stream. */
async function* newTokens(client: Client, filter: string): AsyncGenerator<readonly string[]> {
  let unread = '';
  for await (const text of client.stream(urls.live({ q: filter }))) {
    unread += text;
    const messages = unread.split('\n\n');
    unread = messages.pop() ?? '';
    for (const message of messages) {
      if (!message.startsWith('data: ')) continue;
      const { now, new: fresh = [] } = JSON.parse(message.slice('data: '.length)) as {
        now?: unknown;
        new?: readonly string[];
      };
      yield now === undefined ? fresh : [];
    }
  }
}

/** Rejects if the first connection fails; later ones are tried again, because the application may restart. */
export async function tail({ client, filter, print, note }: TailOptions): Promise<never> {
  let wasOpen = false;
  for (;;) {
    try {
      let isOpen = false;
      for await (const tokens of newTokens(client, filter)) {
        if (!isOpen) note('Following new requests; Ctrl C ends it.');
        isOpen = wasOpen = true;
        if (tokens.length === 0) continue;
        const path = urls.searchJson({ q: filter, limit: MOST_ROWS });
        const { profiles } = (await client.json(path)) as { profiles: readonly ListedProfile[] };
        const ended = profiles.filter(({ token, state }) => tokens.includes(token) && state !== 'running');
        if (ended.length > 0) print(ended.toReversed());
      }
      if (isOpen) note('The stream has ended; connecting again.');
    } catch (error) {
      if (!wasOpen) throw error;
    }
    await sleep(RETRY_MS);
  }
}
