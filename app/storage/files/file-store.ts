/**
 * Keeps records in files of one folder that all processes of an application share, or in memory by the same code. Each process writes
 * segments of its own (segment-writer.ts), reads those of all (segment-index.ts), and one at a time deletes old ones (delete-old.ts).
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { unavailable } from '../../errors.ts';
import { createOneAtATime } from '../../profiler/one-at-a-time.ts';
import { firstOf, matcherOf, orderOf } from '../../profiler/store/query-rows.ts';
import type { FindResult, ProfileQuery, TextSearch } from '../../profiler/store/storage.ts';
import type { FindText, Row, Store, StoreLimits } from '../../profiler/store/store.ts';
import { createTurns } from '../../profiler/turns.ts';
import { createOldDeleter, SETTING } from './delete-old.ts';
import type { Disk } from './disk.ts';
import { checksum, readText, TEXTS } from './segment.ts';
import { CLEARED, createSegmentIndex, type Found, isAlive, PIN, type Text } from './segment-index.ts';
import { createSegmentWriter } from './segment-writer.ts';

export const PROJECT = 'project';

export interface FileStoreOptions {
  disk: Disk;
  mostBytes?: number;
  project: string;
  script: string;
  /** What protects the pages of this process, hashed; null: nothing does. */
  guard: string | null;
  /** Shows what any process of this user has recorded, whatever protects its pages: the command line. */
  showsAll?: boolean;
  isFrozenBetween?: boolean;
  /** Why records are not in the usual place. */
  notice?: string | null;
  thread: number;
  warn: (sentence: string) => void;
}

const NO_LIMITS: StoreLimits = {
  maxAgeMs: Infinity,
  count: Infinity,
  bytes: Infinity,
  profilerCount: Infinity,
  summaryCount: Infinity,
  summaryBytes: Infinity,
  exceptions: { maxAgeMs: Infinity, count: Infinity, bytes: Infinity },
};
export const MOST_MEBIBYTES = 256;
const RELEASE_AFTER_MS = 5 * 60_000;
/** A search for text ends after so many milliseconds, or so many records. */
const SEARCH_MS = 1000;
const MOST_SEARCHED = 20_000;
const TURN_MS = 10;
/** Rows between two looks at the clock. */
const ROWS_A_LOOK = 1000;
/** Texts of segments that a search holds at once. */
const MOST_TEXTS = 4;
const ROWS_AT_ONCE = 5000;
const SETTING_NAME = /^[\w.-]{1,100}$/;
const TOKEN = /^[0-9a-f]{6}$/;

/** Rejects as a store does if the disk fails. */
async function reported<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw unavailable(error);
  }
}

export function createFileStore(options: FileStoreOptions): Store {
  const { disk, guard, showsAll = false, warn, project } = options;
  const index = createSegmentIndex({
    disk,
    shows: (other) => showsAll || other === null || other === guard,
    warn,
  });
  let limits: StoreLimits = NO_LIMITS;
  let isNamed = false;
  const writer = createSegmentWriter({
    disk,
    index,
    header: () => ({ project, script: options.script, pid: process.pid, thread: options.thread, guard }),
    isFrozenBetween: options.isFrozenBetween ?? false,
    async onHeartbeat() {
      const clearedAt = Number((await disk.readText(CLEARED)) ?? 0);
      if (clearedAt <= index.clearedAt) return;
      index.clear(clearedAt);
      await writer.rotate();
    },
    onFull() {
      void store.purge(limits).catch(() => undefined);
    },
    warn,
  });
  const deleter = createOldDeleter({
    disk,
    index,
    writer,
    mostBytes: options.mostBytes ?? MOST_MEBIBYTES * 1024 * 1024,
  });
  let release: NodeJS.Timeout | null = null;
  const inTurn = createOneAtATime();

  function nameProject(): void {
    isNamed = true;
    void disk.writeText(PROJECT, project, true).catch(() => {
      isNamed = false;
    });
  }

  /** Knows what other processes have written until a moment ago. */
  async function refresh(): Promise<void> {
    if (release === null) release = setTimeout(forgetRows, RELEASE_AFTER_MS).unref();
    else release.refresh();
    await index.refresh();
  }

  function forgetRows(): void {
    release = null;
    index.release();
  }

  function rowOf({ row, segment }: Found): Row {
    const hasEnded = row.state === 'running' && !segment.own && !isAlive(segment);
    return hasEnded ? { ...row, state: 'final' } : row;
  }

  /** null: it was deleted, or is damaged. */
  async function textOf(text: Text): Promise<string | null> {
    if (typeof text === 'string') return text;
    return readText(disk, text.segment.name, text.place).catch(() => null);
  }

  async function foundOf(token: string): Promise<Found | undefined> {
    const own = index.get(token);
    if (own !== undefined || !TOKEN.test(token)) return own;
    await refresh();
    return index.get(token);
  }

  async function amendmentsOf({ facts }: Found): Promise<Record<string, unknown>> {
    const amendments: Record<string, unknown> = {};
    for (const [name, { text }] of facts ?? []) {
      const json = await textOf(text);
      if (json !== null) amendments[name] = JSON.parse(json);
    }
    return amendments;
  }

  async function textsOf(name: string): Promise<Buffer | null> {
    const state = await disk.state(name + TEXTS);
    return state === null ? null : disk.read(name + TEXTS, 0, state.size);
  }

  function createTextReader(): (text: Text) => Promise<string | null> {
    const held = new Map<string, Promise<Buffer | null>>();
    return async (text) => {
      if (typeof text === 'string') return text;
      const { segment, place } = text;
      let bytes = held.get(segment.name);
      if (bytes === undefined || ((await bytes)?.length ?? Infinity) < place.from + place.size) {
        bytes = textsOf(segment.name).catch(() => null);
        held.set(segment.name, bytes);
        const [oldest] = held.keys();
        if (held.size > MOST_TEXTS && oldest !== undefined) held.delete(oldest);
      }
      const found = (await bytes)?.subarray(place.from, place.from + place.size);
      return found !== undefined && checksum(found) === place.sum ? found.toString() : null;
    };
  }

  async function search(
    candidates: readonly Found[],
    { text: wanted = '', offset, limit }: ProfileQuery,
    findText: FindText,
  ): Promise<{ hits: Found[]; looked: TextSearch }> {
    const read = createTextReader();
    const hits: Found[] = [];
    const found: TextSearch['found'] = {};
    const until = performance.now() + SEARCH_MS;
    let turn = performance.now();
    let count = 0;
    for (const one of candidates) {
      if (hits.length > offset + limit || count === MOST_SEARCHED || performance.now() > until) break;
      count++;
      const text = await read(one.text);
      const place = text === null ? null : findText({ row: one.row, text }, wanted);
      if (place !== null) {
        hits.push(one);
        Object.assign(found, { [one.token]: place });
      }
      if (performance.now() - turn < TURN_MS) continue;
      await nextTurn();
      turn = performance.now();
    }
    const oldest = candidates[count - 1]?.row.startedAt ?? null;
    return { hits, looked: { count, all: count === candidates.length, oldest, found } };
  }

  /** Newest first; no more than `most`. */
  async function matching(query: ProfileQuery, most: number): Promise<Found[]> {
    const { token, from = -Infinity, pinned } = query;
    const matches = matcherOf(query);
    const one = token === undefined ? undefined : index.get(token);
    const among = token === undefined ? index.all() : one === undefined ? [] : [one];
    const matched: Found[] = [];
    const between = createTurns();
    for (let at = 0; at < among.length; at += ROWS_A_LOOK) {
      for (const found of among.slice(at, at + ROWS_A_LOOK)) {
        if (matched.length === most || found.row.startedAt < from) return matched;
        if (matches(rowOf(found)) && (pinned !== true || index.isPinned(found.token))) matched.push(found);
      }
      await between();
    }
    return matched;
  }

  async function find(query: ProfileQuery, findText?: FindText): Promise<FindResult> {
    await refresh();
    const { text, offset, limit, sort = 'startedAt', descending = true } = query;
    const isNewestFirst = sort === 'startedAt' && descending;
    const isPage = query.counted === false && text === undefined && isNewestFirst;
    const candidates = await matching(query, isPage ? offset + limit : Infinity);
    let found = candidates;
    let page: Found[] | undefined;
    let looked: TextSearch | undefined;
    if (text !== undefined && findText !== undefined)
      ({ hits: found, looked } = await inTurn(() => search(candidates, query, findText)));
    else if (!isNewestFirst) {
      const order = orderOf(query);
      page = firstOf(found, offset + limit, (a, b) => order(a.row, b.row));
    }
    const rows = (page ?? found).slice(offset, offset + limit).map((one) => ({ ...rowOf(one) }));
    const pinned = rows.flatMap(({ token }) => (index.isPinned(token) ? [token] : []));
    return {
      rows,
      total: found.length,
      totalIsExact: looked?.all ?? !(isPage && found.length === offset + limit),
      ...(pinned.length === 0 ? {} : { pinned }),
      ...(looked === undefined
        ? {}
        : {
            looked: {
              ...looked,
              found: Object.fromEntries(rows.flatMap(({ token }) => placeOf(looked, token))),
            },
          }),
    };
  }

  const store: Store = {
    name: disk.name,
    get state() {
      return { ...writer.state, notice: options.notice ?? null };
    },
    add(items) {
      if (!isNamed) nameProject();
      for (const item of items) {
        const before = index.get(item.row.token)?.row;
        const isOther =
          before !== undefined &&
          (before.startedAt !== item.row.startedAt || before.process !== item.row.process);
        const isLate = before?.state !== 'running' && item.row.state === 'running' && before !== undefined;
        if (isOther) item.settled?.('token in use');
        else if (isLate) item.settled?.(null);
        else writer.add(item);
      }
    },
    async amend(token, name, json) {
      const found = await reported(() => foundOf(token));
      if (found === undefined) return false;
      const place = { from: 0, size: 0, sum: 0 };
      writer.put({ type: 'fact', at: writer.now(), token, name, ...place }, found.segment.kind, json);
      return true;
    },
    read: (token) =>
      reported(async () => {
        if (TOKEN.test(token)) await refresh();
        const found = index.get(token);
        const text = found === undefined ? null : await textOf(found.text);
        if (found === undefined || text === null) return null;
        const amendments = await amendmentsOf(found);
        return { row: { ...rowOf(found) }, text, amendments, pinned: index.isPinned(token) };
      }),
    find: (query, findText) => reported(() => find(query, findText)),
    async *rows(since) {
      await reported(refresh);
      const all = index.all();
      let from = 0;
      while (from < all.length) {
        const batch: Row[] = [];
        for (const found of all.slice(from, from + ROWS_AT_ONCE))
          if (found.row.startedAt >= since) batch.push(rowOf(found));
        from += ROWS_AT_ONCE;
        if (batch.length === 0) return;
        yield batch;
        await nextTurn();
      }
    },
    async label(token, labels) {
      const found = await foundOf(token);
      if (found === undefined) return;
      const entry = { type: 'label', at: writer.now(), token, labels } as const;
      // The command line knows no rules of the application.
      if (showsAll) index.add(found.segment, entry);
      else writer.put(entry, found.segment.kind);
    },
    keep: (token, yes) =>
      reported(async () => {
        if ((await foundOf(token)) === undefined) return false;
        if (yes) await disk.writeText(PIN + token, '', false);
        else await disk.remove(PIN + token);
        index.pin(token, yes);
        return true;
      }),
    purge(given) {
      limits = given;
      return reported(() => deleter.purge(given));
    },
    clear: () =>
      reported(async () => {
        await refresh();
        const before = index.all().length;
        const until = writer.now();
        await disk.writeText(CLEARED, String(until), false);
        index.clear(until);
        await writer.flush(1000);
        await writer.rotate();
        await deleter.deleteCleared();
        return before - index.all().length;
      }),
    async setting(name, value, { onlyIfAbsent = false } = {}) {
      if (!SETTING_NAME.test(name)) return null;
      const file = SETTING + name;
      return reported(async () => {
        if (value === null) await disk.remove(file);
        else if (value !== undefined && (await disk.writeText(file, value, onlyIfAbsent))) return value;
        return disk.readText(file);
      });
    },
    async close(timeoutMs = 5000) {
      if (release !== null) clearTimeout(release);
      await writer.close(timeoutMs);
    },
    closeSync(setting) {
      writer.closeSync();
      try {
        if (setting !== undefined) disk.writeTextSync(SETTING + setting.name, setting.value);
      } catch {
        // Nothing more can be done: the process ends.
      }
    },
  };
  return store;
}

function placeOf({ found }: TextSearch, token: string): [string, TextSearch['found'][string]][] {
  const place = found[token];
  return place === undefined ? [] : [[token, place]];
}
