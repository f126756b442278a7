/**
 * Stores profiles in the memory of one process, limited in bytes and number, for hosts without PostgreSQL. A map in order of arrival; when
 * it is full, the oldest are evicted.
 */
import { type ArenaBytes, createByteArena } from '../profiler/byte-arena.ts';
import type { ProfileIndex } from '../profiler/profile-index.ts';
import type { RoutePercentiles } from '../profiler/route-summary.ts';
import type { ProfileStorage, QueuedProfile } from '../profiler/storage.ts';
import { type Entry, findEntries, isPinned, countEntries } from './memory-find.ts';
import { purgedTokens, unpinnedTokens } from './memory-purge.ts';
import { percentilesAmong, summarizeRows } from './memory-summarize.ts';

export interface MemoryStorageOptions {
  /** Limit of the memory that profiles take, in bytes; default: 32 MB. */
  maxBytes?: number;
  /** Limit of their number; default: 10,000. */
  maxCount?: number;
  /** Profiles not stored because another request has their token. */
  onClash?: (tokens: readonly string[]) => void;
}

/** Shared parts in use are stored again every hour, so no profile refers to a part that is this much older than the oldest profile. */
const SHARED_SLACK_MS = 2 * 3_600_000;

/** About the heap size of an index row, its short texts and its entry. */
const ROW_BYTES = 1500;
/** Share of the limit that unused parts of buffers may take. */
const MOST_UNUSED = 1 / 8;

class MemoryEntry implements Entry {
  readonly index: ProfileIndex;
  stored: ArenaBytes;
  readonly version: string;
  readonly amendments: Map<string, string>;

  constructor(
    index: ProfileIndex,
    stored: ArenaBytes,
    version: string,
    amendments = new Map<string, string>(),
  ) {
    this.index = index;
    this.stored = stored;
    this.version = version;
    this.amendments = amendments;
  }

  get document(): string {
    return this.stored.bytes.toString();
  }
}

/** Estimated memory of a profile. */
function sizeOf({ index, stored, amendments }: MemoryEntry): number {
  let size = ROW_BYTES + stored.bytes.length + index.url.length + (index.error?.length ?? 0);
  for (const text of amendments.values()) size += text.length;
  return size;
}

export function createMemoryStorage({
  maxBytes = 32 * 1024 * 1024,
  maxCount = 10_000,
  onClash,
}: MemoryStorageOptions = {}): ProfileStorage {
  const arena = createByteArena();
  const entries = new Map<string, MemoryEntry>();
  const shared = new Map<string, { text: string; usedAt: number }>();
  const settings = new Map<string, string>();
  let bytes = 0;
  let written = 0;

  function remove(token: string): number {
    const entry = entries.get(token);
    if (entry === undefined) return 0;
    entries.delete(token);
    bytes -= sizeOf(entry);
    entry.stored.free();
    return 1;
  }

  /** Stores one profile; false if another request has its token. */
  function put({ index, bytes: document }: QueuedProfile): boolean {
    const before = entries.get(index.token);
    if (before !== undefined) {
      const same = before.index.process === index.process && before.index.startedAt === index.startedAt;
      if (!same) return false;
      if (before.index.state === 'final' && index.state === 'running') return true;
      bytes -= sizeOf(before);
      before.stored.free();
    }
    // The same characters as in a URL, and as PostgreSQL can store.
    const row = { ...index, route: index.route?.toWellFormed() ?? null, method: index.method.toWellFormed() };
    const entry = new MemoryEntry(row, arena.copy(document), String(++written), before?.amendments);
    entries.set(index.token, entry);
    bytes += sizeOf(entry);
    return true;
  }

  /** Copies the remaining profiles out of chunks that are mostly unused, so that their memory is reused. */
  function defragment(): void {
    if (arena.unused() < maxBytes * MOST_UNUSED) return;
    for (const entry of entries.values()) {
      if (!entry.stored.isSparse()) continue;
      const { stored } = entry;
      entry.stored = arena.copy(stored.bytes);
      stored.free();
    }
  }

  /** Evicts the oldest profiles, pinned ones last. */
  function makeRoom(): void {
    for (const pinned of [false, true])
      for (const [token, entry] of entries) {
        if (entries.size <= maxCount && bytes <= maxBytes) return;
        if (isPinned(entry) === pinned) remove(token);
      }
  }

  /** Deletes shared parts that no profile can refer to. */
  function purgeShared(): void {
    let oldest = Date.now();
    for (const { index } of entries.values()) oldest = Math.min(oldest, index.startedAt);
    for (const [id, { usedAt }] of shared) if (usedAt < oldest - SHARED_SLACK_MS) shared.delete(id);
  }

  function removeAll(tokens: readonly string[]): number {
    let count = 0;
    for (const token of tokens) count += remove(token);
    purgeShared();
    return count;
  }

  function allRows(): ProfileIndex[] {
    return Array.from(entries.values(), ({ index }) => index);
  }

  function percentilesOf({ kind, route, method, startedAt }: ProfileIndex): RoutePercentiles | null {
    if (kind !== 'request' || route === null) return null;
    return percentilesAmong(allRows(), { route, method, before: startedAt });
  }

  return {
    name: 'memory',
    isShared: false,
    write(profiles) {
      const clashes = profiles.filter((profile) => !put(profile)).map(({ index }) => index.token);
      makeRoom();
      defragment();
      if (clashes.length > 0) onClash?.(clashes);
      return Promise.resolve();
    },
    storeShared(parts) {
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
      if (entry === undefined) return Promise.resolve(false);
      bytes -= sizeOf(entry);
      entry.amendments.set(name, JSON.stringify(value ?? null));
      bytes += sizeOf(entry);
      return Promise.resolve(true);
    },
    read(token, { known, routePercentiles = false } = {}) {
      const entry = entries.get(token);
      if (entry === undefined) return Promise.resolve(null);
      const amendments = Object.fromEntries(
        Array.from(entry.amendments, ([name, text]) => [name, JSON.parse(text) as unknown]),
      );
      const { version } = entry;
      return Promise.resolve({
        version,
        document: version === known ? null : entry.document,
        amendments,
        ...(routePercentiles ? { routePercentiles: percentilesOf(entry.index) } : {}),
      });
    },
    find: (query) => Promise.resolve(findEntries(entries.values(), query)),
    countsAndHistogram: (query) => Promise.resolve(countEntries(entries.values(), query)),
    routePercentiles: (query) => Promise.resolve(percentilesAmong(allRows(), query)),
    summarize: (query) => Promise.resolve(summarizeRows(allRows(), query)),
    clear: () => Promise.resolve(removeAll(unpinnedTokens([...entries.values()]))),
    readSetting: (name) => Promise.resolve(settings.get(name) ?? null),
    writeSetting(name, value) {
      if (value === null) settings.delete(name);
      else settings.set(name, value);
      return Promise.resolve();
    },
    purge: (limits) => Promise.resolve(removeAll(purgedTokens([...entries.values()], limits))),
    close() {
      settings.clear();
      entries.clear();
      shared.clear();
      bytes = 0;
      return Promise.resolve();
    },
  };
}
