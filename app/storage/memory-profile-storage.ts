/**
 * Profiles in the memory of one process, bounded by count and bytes: for hosts without PostgreSQL. Nothing outlives
 * the process. A map in the order of arrival; the oldest go first when it is full.
 */
import { matchesQuery } from '../profiler/match-query.ts';
import type { ProfileIndex } from '../profiler/profile.ts';
import type {
  ProfileQuery,
  ProfileStorage,
  QueuedProfile,
  RetentionLimits,
  StoredProfile,
} from '../profiler/storage.ts';
import { summarizeRows } from './memory-summarize.ts';

export interface MemoryStorageOptions {
  /** Characters of documents kept at most. */
  maxBytes?: number;
  maxCount?: number;
  /** Profiles not stored because another request has their token. */
  onClash?: (tokens: readonly string[]) => void;
}

/** A shared part is kept anew hourly, so that nothing younger than this after its last use refers to it. */
const SHARED_SLACK_MS = 2 * 3_600_000;

interface Entry extends StoredProfile {
  amendments: Map<string, string>;
}

function compare(
  a: ProfileIndex,
  b: ProfileIndex,
  { sort = 'startedAt', descending = true }: ProfileQuery,
): number {
  const [left, right] = [a[sort], b[sort]];
  if (left !== right) {
    if (left === null) return 1;
    if (right === null) return -1;
    return (left < right ? -1 : 1) * (descending ? -1 : 1);
  }
  return b.startedAt - a.startedAt || (a.token < b.token ? -1 : 1);
}

const newestFirst = (a: Entry, b: Entry): number =>
  b.index.startedAt - a.index.startedAt || (a.index.token < b.index.token ? -1 : 1);

export function createMemoryStorage({
  maxBytes = 64 * 1024 * 1024,
  maxCount = 10_000,
  onClash,
}: MemoryStorageOptions = {}): ProfileStorage {
  const entries = new Map<string, Entry>();
  const shared = new Map<string, { text: string; usedAt: number }>();
  let bytes = 0;

  function remove(token: string): number {
    const entry = entries.get(token);
    if (entry === undefined) return 0;
    entries.delete(token);
    bytes -= entry.document.length;
    return 1;
  }

  /** Stores one; false where another request has the token. */
  function put({ index, document }: QueuedProfile): boolean {
    const before = entries.get(index.token);
    if (before !== undefined) {
      const same = before.index.process === index.process && before.index.startedAt === index.startedAt;
      if (!same) return false;
      if (before.index.state === 'final' && index.state === 'running') return true;
      bytes -= before.document.length;
    }
    entries.set(index.token, {
      index: { ...index },
      document,
      amendments: before?.amendments ?? new Map<string, string>(),
    });
    bytes += document.length;
    return true;
  }

  function makeRoom(): void {
    for (const token of entries.keys()) {
      if (entries.size <= maxCount && bytes <= maxBytes) return;
      remove(token);
    }
  }

  /** Tokens that the retention no longer keeps, without their children. */
  function expired(limits: RetentionLimits): Set<string> {
    const newest = [...entries.values()].sort(newestFirst);
    const gone = new Set<string>();
    const left = { request: limits.count, profiler: limits.profilerCount, error_page: Infinity };
    let reached = 0;
    for (const { index } of newest) {
      reached += index.bytes;
      left[index.kind] -= 1;
      if (index.startedAt < limits.olderThan || left[index.kind] < 0 || reached > limits.bytes)
        gone.add(index.token);
    }
    return gone;
  }

  /** What no profile may refer to any more goes. */
  function purgeShared(): void {
    let oldest = Date.now();
    for (const { index } of entries.values()) oldest = Math.min(oldest, index.startedAt);
    for (const [id, { usedAt }] of shared) if (usedAt < oldest - SHARED_SLACK_MS) shared.delete(id);
  }

  function purge(limits: RetentionLimits): number {
    const gone = expired(limits);
    let count = 0;
    for (const { index } of [...entries.values()]) {
      const orphaned = index.parent !== null && gone.has(index.parent);
      if (gone.has(index.token) || orphaned) count += remove(index.token);
    }
    purgeShared();
    return count;
  }

  return {
    name: 'memory',
    write(profiles) {
      const clashes = profiles.filter((profile) => !put(profile)).map(({ index }) => index.token);
      makeRoom();
      if (clashes.length > 0) onClash?.(clashes);
      return Promise.resolve();
    },
    keepShared(parts) {
      for (const { id, text } of parts) shared.set(id, { text, usedAt: Date.now() });
      return Promise.resolve();
    },
    readShared(ids) {
      const found = ids.flatMap((id): [string, string][] => {
        const part = shared.get(id);
        return part === undefined ? [] : [[id, part.text]];
      });
      return Promise.resolve(new Map(found));
    },
    amend(token, name, value) {
      const entry = entries.get(token);
      entry?.amendments.set(name, JSON.stringify(value ?? null));
      return Promise.resolve(entry !== undefined);
    },
    read(token) {
      const entry = entries.get(token);
      if (entry === undefined) return Promise.resolve(null);
      const amendments = Object.fromEntries(
        Array.from(entry.amendments, ([name, text]) => [name, JSON.parse(text) as unknown]),
      );
      return Promise.resolve({ index: { ...entry.index }, document: entry.document, amendments });
    },
    find(query) {
      const rows = Array.from(entries.values(), ({ index }) => index)
        .filter((index) => matchesQuery(index, query))
        .sort((a, b) => compare(a, b, query));
      const page = rows.slice(query.offset, query.offset + query.limit).map((index) => ({ ...index }));
      return Promise.resolve({ rows: page, total: rows.length, totalIsExact: true });
    },
    summarize: (query) =>
      Promise.resolve(
        summarizeRows(
          Array.from(entries.values(), ({ index }) => index),
          query,
        ),
      ),
    purge: (limits) => Promise.resolve(purge(limits)),
    close() {
      entries.clear();
      shared.clear();
      bytes = 0;
      return Promise.resolve();
    },
  };
}
