/** Selects the profiles in memory that retention deletes, by the same rules as in PostgreSQL (postgres-purge.ts). */
import type { RetentionLimits } from '../profiler/storage.ts';
import { compareNewest } from '../profiler/query-rows.ts';
import { type Entry, isPinned } from './memory-find.ts';

/** Failed requests and the slowest of each route, newest first; these are stored longer than other profiles. */
function exceptionsByAge(newest: readonly Entry[], { keepExceptions }: RetentionLimits): Set<string> {
  const exceptions = new Set<string>();
  if (keepExceptions === undefined) return exceptions;
  const slowest = new Map<string | null, Entry>();
  const candidates = newest.filter(
    ({ index }) => index.kind === 'request' && index.startedAt >= keepExceptions.olderThan,
  );
  for (const entry of candidates) {
    const before = slowest.get(entry.index.route);
    if ((entry.index.durationMs ?? 0) > (before?.index.durationMs ?? -1))
      slowest.set(entry.index.route, entry);
  }
  for (const entry of candidates) {
    const { error, status, route, token } = entry.index;
    const failed = error !== null || (status ?? 0) >= 500;
    if ((failed || slowest.get(route) === entry) && exceptions.size < keepExceptions.count)
      exceptions.add(token);
  }
  return exceptions;
}

/** Tokens of profiles past the retention, without their children. */
function expired(entries: readonly Entry[], limits: RetentionLimits): Set<string> {
  const newest = [...entries].sort((a, b) => compareNewest(a.index, b.index));
  const exceptions = exceptionsByAge(
    newest.filter(({ index }) => index.startedAt < limits.olderThan),
    limits,
  );
  const gone = new Set<string>();
  const { count, profilerCount } = limits;
  const left = { request: count, job: count, command: count, profiler: profilerCount, error_page: Infinity };
  let pins = limits.keepExceptions?.count ?? 0;
  let reached = 0;
  for (const entry of newest) {
    const { index } = entry;
    if (isPinned(entry) && pins-- > 0) continue;
    if (exceptions.has(index.token)) continue;
    reached += index.bytes;
    left[index.kind] -= 1;
    if (index.startedAt < limits.olderThan || left[index.kind] < 0 || reached > limits.bytes)
      gone.add(index.token);
  }
  return gone;
}

/** Tokens to delete. Children are deleted with their parents. */
export function purgedTokens(entries: readonly Entry[], limits: RetentionLimits): string[] {
  const gone = expired(entries, limits);
  const tokens = new Set(entries.map(({ index }) => index.token));
  return entries
    .filter(({ index: { token, parent } }) => {
      const withParent = parent !== null && tokens.has(parent);
      return withParent
        ? gone.has(parent) || (limits.keepExceptions === undefined && gone.has(token))
        : gone.has(token);
    })
    .map(({ index }) => index.token);
}

/** Tokens of profiles that are neither pinned nor children of pinned ones. */
export function unpinnedTokens(entries: readonly Entry[]): string[] {
  const pinned = new Set(entries.filter(isPinned).map(({ index }) => index.token));
  return entries
    .map(({ index }) => index)
    .filter(({ token, parent }) => !pinned.has(token) && (parent === null || !pinned.has(parent)))
    .map(({ token }) => token);
}
