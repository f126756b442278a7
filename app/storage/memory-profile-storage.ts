/**
 * Profiles in the memory of one process, bounded by count and bytes: for hosts without PostgreSQL. Nothing outlives
 * the process. A map in the order of arrival; the oldest go first when it is full.
 */
import type { ProfileIndex } from '../profiler/profile-index.ts';
import type { RoutePercentiles } from '../profiler/route-summary.ts';
import type { ProfileStorage, QueuedProfile } from '../profiler/storage.ts';
import { type Entry, findEntries, isPinned, countEntries } from './memory-find.ts';
import { purgedTokens, unpinnedTokens } from './memory-purge.ts';
import { percentilesAmong, summarizeRows } from './memory-summarize.ts';

export interface MemoryStorageOptions {
  /** Characters of documents kept at most. */
  maxBytes?: number;
  maxCount?: number;
  /** Profiles not stored because another request has their token. */
  onClash?: (tokens: readonly string[]) => void;
}

/** A shared part is kept anew hourly, so that nothing younger than this after its last use refers to it. */
const SHARED_SLACK_MS = 2 * 3_600_000;

export function createMemoryStorage({
  maxBytes = 64 * 1024 * 1024,
  maxCount = 10_000,
  onClash,
}: MemoryStorageOptions = {}): ProfileStorage {
  const entries = new Map<string, Entry>();
  const shared = new Map<string, { text: string; usedAt: number }>();
  const settings = new Map<string, string>();
  let bytes = 0;
  let written = 0;

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
      // As an address can hold it, and PostgreSQL.
      index: {
        ...index,
        route: index.route?.toWellFormed() ?? null,
        method: index.method.toWellFormed(),
      },
      document,
      version: String(++written),
      amendments: before?.amendments ?? new Map<string, string>(),
    });
    bytes += document.length;
    return true;
  }

  /** The oldest go, pinned ones last. */
  function makeRoom(): void {
    for (const pinned of [false, true])
      for (const [token, entry] of entries) {
        if (entries.size <= maxCount && bytes <= maxBytes) return;
        if (isPinned(entry) === pinned) remove(token);
      }
  }

  /** What no profile may refer to any more goes. */
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
    write(profiles) {
      const clashes = profiles.filter((profile) => !put(profile)).map(({ index }) => index.token);
      makeRoom();
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
      entry?.amendments.set(name, JSON.stringify(value ?? null));
      return Promise.resolve(entry !== undefined);
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
