/**
 * Tells open lists about new requests. One query per second and process serves all of them, and only while one is open. A
 * request is reported when it appears and when it ends, or only once if it takes longer than a minute.
 */
import { runningOutside } from '../../../profiler/record/outside.ts';
import { matcherOf } from '../../../profiler/store/query-rows.ts';
import type { ProfileIndex } from '../../../profiler/store/profile-index.ts';
import type { Search } from '../../../profiler/read/profiles.ts';
import type { FindResult, ProfileQuery } from '../../../profiler/store/storage.ts';

export interface LiveListener {
  query: ProfileQuery;
  /** `now`: called once, with the newest matching tokens, because the page may be older than them; `new`: newest first; null: nothing was new for a while. */
  tell(message: { now: readonly string[] } | { new: readonly string[] } | null): void;
  isLeaving(): boolean;
  end(): void;
}

export interface LiveOptions {
  find: (query: Search) => Promise<Pick<FindResult, 'rows' | 'pinned'>>;
  everyMs?: number;
  mostListeners?: number;
}

const WINDOW_MS = 60_000;
const MOST_NEW = 200;
const KEEP_ALIVE_POLLS = 15;

interface Seen {
  rows: readonly ProfileIndex[] | null;
  fresh: readonly ProfileIndex[];
  pinned: readonly string[];
}

const NOTHING: Seen = { rows: null, fresh: [], pinned: [] };

/** Create it outside any request, so that its queries belong to none. */
export function createLive({ find, everyMs = 1000, mostListeners = 20 }: LiveOptions) {
  const outside = runningOutside();
  const listeners = new Set<LiveListener>();
  const ungreeted = new Set<LiveListener>();
  let timer: NodeJS.Timeout | null = null;
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

  async function look(): Promise<Seen> {
    const from = Date.now() - WINDOW_MS;
    const kinds = ['request', 'error_page', 'job', 'command'] as const;
    const { rows, pinned = [] } = await find({ kinds, from, limit: MOST_NEW });
    const before = seen;
    seen = new Map([...(before ?? [])].filter(([, { startedAt }]) => startedAt >= from));
    for (const { token, startedAt, state } of rows) seen.set(token, { startedAt, state });
    const fresh = rows.filter(({ token, state }) => before !== null && before.get(token)?.state !== state);
    return { rows, fresh, pinned };
  }

  async function poll(): Promise<void> {
    for (const listener of listeners) if (listener.isLeaving()) end(listener);
    if (asking || listeners.size === 0) return;
    asking = true;
    const { rows, fresh, pinned } = await look().catch(() => NOTHING);
    asking = false;
    polls++;
    for (const listener of listeners) {
      const { query } = listener;
      const matches = matcherOf(query);
      const matching = (some: readonly ProfileIndex[]): string[] =>
        some
          .filter((row) => matches(row) && (query.pinned !== true || pinned.includes(row.token)))
          .map(({ token }) => token);
      if (rows !== null && ungreeted.delete(listener)) {
        listener.tell({ now: matching(rows).slice(0, query.limit) });
        continue;
      }
      const tokens = matching(fresh);
      if (tokens.length > 0) listener.tell({ new: tokens });
      else if (polls % KEEP_ALIVE_POLLS === 0) listener.tell(null);
    }
  }

  function start(): void {
    timer = setInterval(() => void poll(), everyMs);
    timer.unref();
    void poll();
  }

  return {
    listen(listener: LiveListener): (() => void) | null {
      if (listeners.size >= mostListeners || closed) return null;
      listeners.add(listener);
      ungreeted.add(listener);
      if (timer === null) outside(start);
      return () => {
        leave(listener);
      };
    },
    close(): void {
      closed = true;
      for (const listener of listeners) end(listener);
    },
  };
}

export type Live = ReturnType<typeof createLive>;
