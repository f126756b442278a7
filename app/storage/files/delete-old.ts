/**
 * Keeps the folder within its limits: whole segments are deleted, the oldest of their kind first. What outlives its segment is copied
 * before: pinned and failed requests, and the slowest of each route.
 */
import { failed } from '../../profiler/store/query-rows.ts';
import type { Row, StoreLimits } from '../../profiler/store/store.ts';
import { ageOf, type Disk, DRAFT } from './disk.ts';
import {
  countEntry,
  emptyTally,
  type Entry,
  readEntries,
  readText,
  ROWS,
  segmentKindOf,
  type SegmentKind,
  type Tally,
  TEXTS,
} from './segment.ts';
import { ALIVE_MS, CLEARED, pinsAmong, type SegmentIndex } from './segment-index.ts';
import type { SegmentWriter } from './segment-writer.ts';
import { epochMs } from '../../profiler/record/clock.ts';

interface Counted extends Tally {
  name: string;
  kind: SegmentKind;
  rowsSize: number;
  bytes: number;
  canGo: boolean;
}

export interface OldDeleter {
  purge(limits: StoreLimits): Promise<number>;
  deleteCleared(): Promise<void>;
}

const LOCK = 'lock';
/** Milliseconds after which the process that deletes must have ended. */
const LOCK_STALE_MS = 30_000;
const COPY_WITHIN_MS = 10_000;
const HOUR_MS = 3_600_000;
const SWEEP_EVERY_MS = 10_000;
export const SETTING = 'set-';

export function createOldDeleter(options: {
  disk: Disk;
  index: SegmentIndex;
  writer: SegmentWriter;
  mostBytes: number;
}): OldDeleter {
  const { disk, index, writer, mostBytes } = options;
  const known = new Map<string, Counted>();
  let sweptAt = -Infinity;

  async function count(name: string, kind: SegmentKind): Promise<Counted | null> {
    const [rows, texts] = [await disk.state(name + ROWS), await disk.state(name + TEXTS)];
    if (rows === null) return null;
    const sizes = { rowsSize: rows.size, bytes: rows.size + (texts?.size ?? 0) };
    const own = [...index.segments()].find((one) => one.name === name && one.own);
    if (own !== undefined) return { name, kind, ...sizes, ...own.tally, canGo: own.closed };
    const isQuiet = ageOf(rows.changedAt) > ALIVE_MS;
    const before = known.get(name);
    if (before?.rowsSize === rows.size) return { ...before, ...sizes, canGo: before.canGo || isQuiet };
    const entries = await readEntries(disk, name + ROWS);
    const tally = emptyTally();
    for (const entry of entries) countEntry(tally, kind, entry);
    const canGo = isQuiet || entries.at(-1)?.type === 'end';
    const counted: Counted = { name, kind, ...sizes, ...tally, canGo };
    if (tally.records === 0) counted.oldestStart = counted.newestStart = rows.changedAt;
    known.set(name, counted);
    return counted;
  }

  async function countAll(names: readonly string[]): Promise<Counted[]> {
    const found: Counted[] = [];
    for (const file of [...names].sort()) {
      const name = file.endsWith(ROWS) ? file.slice(0, -ROWS.length) : '';
      const kind = segmentKindOf(name);
      const counted = kind === null ? null : await count(name, kind);
      if (counted !== null) found.push(counted);
    }
    const present = new Set(found.map(({ name }) => name));
    for (const name of known.keys()) if (!present.has(name)) known.delete(name);
    return found;
  }

  async function alone<T>(work: () => Promise<T>): Promise<T | null> {
    const lock = await disk.state(LOCK);
    if (lock !== null && ageOf(lock.changedAt) > LOCK_STALE_MS) await disk.remove(LOCK);
    if (!(await disk.writeText(LOCK, '', true))) return null;
    try {
      return await work();
    } finally {
      await disk.remove(LOCK);
    }
  }

  function choose(all: readonly Counted[], limits: StoreLimits, most: number): Counted[] {
    const gone = new Set<Counted>();
    const left = (kind: SegmentKind): Counted[] => all.filter((one) => one.kind === kind && !gone.has(one));
    const sum = (some: readonly Counted[], of: 'bytes' | 'records'): number =>
      some.reduce((total, one) => total + one[of], 0);

    function shrink(kind: SegmentKind, { least = Infinity, bytes = Infinity, maxAgeMs = Infinity }): void {
      const olderThan = epochMs() - maxAgeMs;
      let [records, size] = [sum(left(kind), 'records'), sum(left(kind), 'bytes')];
      for (const one of left(kind)) {
        const isSpare = records - one.records >= least || size > bytes || one.newestStart < olderThan;
        if (!one.canGo || !isSpare) continue;
        gone.add(one);
        records -= one.records;
        size -= one.bytes;
      }
    }

    const { maxAgeMs, exceptions } = limits;
    shrink('summary', { least: limits.summaryCount, bytes: limits.summaryBytes, maxAgeMs });
    shrink('own', { least: limits.profilerCount, maxAgeMs });
    shrink('full', { least: limits.count, bytes: limits.bytes, maxAgeMs });
    shrink('exception', {
      least: exceptions.count,
      bytes: exceptions.bytes,
      maxAgeMs: exceptions.maxAgeMs,
    });
    for (const kind of ['summary', 'own', 'full', 'exception'] as const) {
      const others = sum(
        all.filter((one) => !gone.has(one) && one.kind !== kind),
        'bytes',
      );
      shrink(kind, { bytes: Math.max(0, most - others) });
    }
    return [...gone];
  }

  function exceptionsAmong(
    rows: readonly Row[],
    pins: ReadonlySet<string>,
    limits: StoreLimits | null,
  ): Set<string> {
    const { count, maxAgeMs } = limits?.exceptions ?? { count: 0, maxAgeMs: 0 };
    const oldest = epochMs() - maxAgeMs;
    const requests = rows.filter(({ kind, startedAt }) => kind === 'request' && startedAt >= oldest);
    const slowest = new Map<string, Row>();
    for (const row of requests) {
      const key = `${row.method} ${row.route ?? ''}`;
      if ((row.durationMs ?? 0) > (slowest.get(key)?.durationMs ?? -1)) slowest.set(key, row);
    }
    const pinned = rows.filter(
      ({ token, parent }) => pins.has(token) || (parent !== null && pins.has(parent)),
    );
    const exceptions = [...requests.filter(failed), ...slowest.values()].slice(0, count);
    const kept = new Set([...pinned, ...exceptions].map(({ token }) => token));
    for (const { token, parent } of rows) if (parent !== null && kept.has(parent)) kept.add(token);
    return kept;
  }

  async function evict(
    gone: readonly Counted[],
    all: readonly Counted[],
    limits: StoreLimits | null,
  ): Promise<number> {
    if (gone.length === 0) return 0;
    const pins = pinsAmong(await disk.names());
    const leaving = new Set(gone);
    const exceptions = new Set(all.flatMap((one) => (leaving.has(one) ? [] : [...one.tokens])));
    let deleted = 0;
    for (const { name, kind, records } of gone) {
      if (kind !== 'full' && pins.size === 0) {
        deleted += records;
        continue;
      }
      const entries = await readEntries(disk, name + ROWS);
      const latest = new Map<string, Entry & { type: 'record' }>();
      for (const entry of entries) if (entry.type === 'record') latest.set(entry.row.token, entry);
      const rows = Array.from(latest.values(), ({ row }) => row);
      const outlive = kind === 'full' ? limits : null;
      const kept = exceptionsAmong(rows, pins, outlive);
      for (const token of kept) {
        const entry = latest.get(token);
        const text = entry === undefined ? null : await readText(disk, name, entry);
        if (entry !== undefined && text !== null) writer.add({ row: entry.row, text }, 'exception', entry.at);
      }
      for (const entry of entries) {
        if (entry.type !== 'fact' && entry.type !== 'label') continue;
        if (!kept.has(entry.token) && !exceptions.has(entry.token)) continue;
        const text = entry.type === 'label' ? undefined : await readText(disk, name, entry);
        if (text !== null) writer.put(entry, 'exception', text);
      }
      deleted += latest.size - kept.size;
    }
    if (!(await writer.flush(COPY_WITHIN_MS))) return 0;
    for (const { name } of gone) {
      await disk.remove(name + ROWS);
      await disk.remove(name + TEXTS);
    }
    index.forget(new Set(gone.map(({ name }) => name)));
    return deleted;
  }

  /** Deletes settings that nothing stored needs, and what a process left behind that ended while it wrote. */
  async function sweep(names: readonly string[], stored: readonly Counted[]): Promise<void> {
    const oldest = Math.min(...stored.map(({ oldestStart }) => oldestStart));
    const blocks = new Set(stored.flatMap((one) => [...one.blocks]));
    const texts = new Set(stored.map(({ name }) => name + TEXTS));
    for (const name of names) {
      const isPart = name.startsWith(`${SETTING}part-`);
      const isBlock = name.startsWith(`${SETTING}tokens-`) && !blocks.has(name.slice(-3));
      const isLost = name.startsWith(DRAFT) || (name.endsWith(TEXTS) && !texts.has(name));
      if (!isPart && !isBlock && !isLost) continue;
      const state = await disk.state(name);
      if (state === null || ageOf(state.changedAt) < HOUR_MS) continue;
      if (!isPart || state.changedAt < oldest - HOUR_MS) await disk.remove(name);
    }
  }

  return {
    async purge(limits) {
      const deleted = await alone(async () => {
        const names = await disk.names();
        const all = await countAll(names);
        const used = all.reduce((total, { bytes }) => total + bytes, 0);
        const most = Math.min(mostBytes, await disk.mostBytes(used));
        const gone = choose(all, limits, most);
        const count = await evict(gone, all, limits);
        if (performance.now() - sweptAt < SWEEP_EVERY_MS) return count;
        sweptAt = performance.now();
        const isGone = new Set(gone);
        await sweep(
          names,
          all.filter((one) => !isGone.has(one)),
        );
        return count;
      });
      return deleted ?? 0;
    },
    async deleteCleared() {
      await alone(async () => {
        const clearedAt = Number((await disk.readText(CLEARED)) ?? 0);
        const all = await countAll(await disk.names());
        const gone = all.filter(({ canGo, newestAt }) => canGo && newestAt <= clearedAt);
        return evict(gone, all, null);
      });
    },
  };
}
