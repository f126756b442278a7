/**
 * Index rows of profiles that are not stored yet: of running requests and of the queue.
 *
 * The row of a running request costs as much as a small profile, and a thousand connections may be open. So requests are filtered by
 * their line first, and if that decides the query, only as many rows are made as it wants. What is left of the work is bounded in time.
 */
import type { Context } from './context.ts';
import { matchesLine, matchesQuery, type QueryLine } from './match-query.ts';
import type { ProfileIndex } from './profile-index.ts';
import type { Recorder } from './recorder.ts';
import type { ProfileQuery } from './storage.ts';
import type { Writer } from './writer.ts';

export interface Unstored {
  /** Matching rows in no order, without those beyond the query's limit. */
  rows: ProfileIndex[];
  /** Number of all matches. */
  total: number;
}

/** Milliseconds that rows of running requests may take; further ones are rows of summaries. */
const WHOLE_ROWS_MS = 5;

/** Filters that need more than the line of a request; sorting by anything but time needs all rows, too. */
const BEYOND_THE_LINE = [
  'url', 'overMs', 'minQueries', 'hasError', 'hasFinding', 'mark', 'process', 'route', 'traceId',
] as const; // prettier-ignore

function isSettledByLine(query: ProfileQuery): boolean {
  return (
    (query.sort === undefined || query.sort === 'startedAt') &&
    BEYOND_THE_LINE.every((name) => query[name] === undefined)
  );
}

function lineOf(context: Context): QueryLine {
  const { token, kind, parent, startedAt } = context;
  const request = context.first('request');
  const response = context.first('response');
  return {
    token,
    kind,
    parent,
    startedAt,
    method: request?.method ?? '',
    clientAddress: request?.origin.clientAddress ?? '',
    status: response === undefined || response.headersAtMs === null ? null : response.status,
  };
}

/** `stored`: what the storage gave for the same query. */
export function findUnstored(
  { recorder, writer }: { recorder: Recorder; writer: Pick<Writer, 'pending'> },
  query: ProfileQuery,
  stored: readonly ProfileIndex[],
): Unstored {
  const seen = new Set(stored.map(({ token }) => token));
  const isWanted = (line: QueryLine): boolean => !seen.has(line.token) && matchesLine(line, query);
  const running = new Map(
    Array.from(recorder.runningContexts(), (context): [string, Context] => [context.token, context]).filter(
      ([, context]) => isWanted(lineOf(context)),
    ),
  );
  // Only the latest version of a profile counts.
  const queued = new Map(Array.from(writer.pending(), ({ index }) => [index.token, index])).values();
  const waiting = [...queued].filter(
    (index) => !running.has(index.token) && isWanted(index) && matchesQuery(index, query),
  );
  const lines = [...running.values(), ...waiting];
  const until = performance.now() + WHOLE_ROWS_MS;
  const rowOf = (line: Context | ProfileIndex): ProfileIndex => {
    const context = running.get(line.token);
    return context === undefined
      ? (line as ProfileIndex)
      : recorder.indexOf(context, performance.now() > until);
  };
  if (!isSettledByLine(query)) {
    const rows = lines.map(rowOf).filter((row) => matchesQuery(row, query));
    return { rows, total: rows.length };
  }
  if (query.offset > 0) return { rows: [], total: lines.length };
  const sign = query.descending === false ? 1 : -1;
  const first = [...lines, ...stored]
    .sort((one, other) => sign * (one.startedAt - other.startedAt))
    .slice(0, query.limit);
  return { rows: first.filter(({ token }) => !seen.has(token)).map(rowOf), total: lines.length };
}
