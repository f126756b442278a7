/**
 * What is new, for the lists that are open: the storage is asked once a second and process, for all of them together, and only
 * while somebody listens. A request is told of when it first shows up, and when it has ended; one that takes longer than a minute is told of once.
 */
import { AsyncResource } from 'node:async_hooks';
import { matchesQuery } from '../../profiler/match-query.ts';
import type { ProfileIndex } from '../../profiler/profile-index.ts';
import type { ProfileQuery } from '../../profiler/storage.ts';

export interface LiveListener {
  query: ProfileQuery;
  /** Tokens of the newest that match when it begins to listen: its page may be older than that. */
  greet(tokens: readonly string[]): void;
  /** Tokens that are new to it, the newest first. */
  tell(tokens: readonly string[]): void;
  /** Nothing was new for a while. */
  keepAlive(): void;
  /** Its server takes no more connections. */
  isLeaving(): boolean;
  /** It is told nothing more. */
  end(): void;
}

export interface Live {
  /** Returns the function that ends it; null where too many listen already. */
  listen(listener: LiveListener): (() => void) | null;
  /** Ends all of them, and takes no more. */
  close(): void;
}

export interface LiveOptions {
  find: (query: ProfileQuery) => Promise<{ rows: readonly ProfileIndex[] }>;
  everyMs?: number;
  mostListeners?: number;
}

/** Milliseconds before now in which a request may have begun that shows up only now. */
const WINDOW_MS = 60_000;
/** Requests looked at per second at most, the newest. */
const MOST_NEW = 200;
/** Polls between two signs of life. */
const KEEP_ALIVE_POLLS = 15;

/** To be made outside of any request: what it asks belongs to none. */
export function createLive({ find, everyMs = 1000, mostListeners = 20 }: LiveOptions): Live {
  const outside = new AsyncResource('HindsightLive');
  const listeners = new Set<LiveListener>();
  const ungreeted = new Set<LiveListener>();
  let timer: NodeJS.Timeout | null = null;
  /** What was seen of each request of the window, by its token; null before the first look. */
  let seen: Map<string, Pick<ProfileIndex, 'startedAt' | 'state'>> | null = null;
  let polls = 0;
  let asking = false;
  let closed = false;

  function stop(): void {
    if (timer !== null) clearInterval(timer);
    timer = null;
    seen = null;
  }

  function leave(listener: LiveListener): void {
    listeners.delete(listener);
    ungreeted.delete(listener);
    if (listeners.size === 0) stop();
  }

  function end(listener: LiveListener): void {
    leave(listener);
    listener.end();
  }

  /** The newest of the window, and what of them is new. */
  async function look(): Promise<{ rows: readonly ProfileIndex[]; fresh: ProfileIndex[] }> {
    const from = Date.now() - WINDOW_MS;
    const { rows } = await find({ kinds: ['request', 'error_page'], from, limit: MOST_NEW, offset: 0 });
    const before = seen;
    seen = new Map([...(before ?? [])].filter(([, { startedAt }]) => startedAt >= from));
    for (const { token, startedAt, state } of rows) seen.set(token, { startedAt, state });
    const fresh = rows.filter(({ token, state }) => before !== null && before.get(token)?.state !== state);
    return { rows, fresh };
  }

  async function poll(): Promise<void> {
    for (const listener of listeners) if (listener.isLeaving()) end(listener);
    if (asking || listeners.size === 0) return;
    asking = true;
    // A storage that fails is said by the list itself.
    const { rows, fresh } = await look().catch(() => ({ rows: null, fresh: [] }));
    asking = false;
    polls++;
    for (const listener of listeners) {
      const { query } = listener;
      const matching = (some: readonly ProfileIndex[]): string[] =>
        some.filter((row) => matchesQuery(row, query)).map(({ token }) => token);
      if (rows !== null && ungreeted.delete(listener)) {
        listener.greet(matching(rows).slice(0, query.limit));
        continue;
      }
      const tokens = matching(fresh);
      if (tokens.length > 0) listener.tell(tokens);
      else if (polls % KEEP_ALIVE_POLLS === 0) listener.keepAlive();
    }
  }

  function start(): void {
    timer = setInterval(() => void poll(), everyMs);
    timer.unref();
    void poll();
  }

  return {
    listen(listener) {
      if (listeners.size >= mostListeners || closed) return null;
      listeners.add(listener);
      ungreeted.add(listener);
      if (timer === null) outside.runInAsyncScope(start);
      return () => {
        leave(listener);
      };
    },
    close() {
      closed = true;
      for (const listener of listeners) end(listener);
    },
  };
}
