/**
 * Limits what a page shows, by number of rows and by their estimated length, so that a page stays below 60 KB whatever was
 * recorded. The rest is behind a link.
 */
import { numberHelpers } from '../../view-helpers/numbers.ts';

/** Rows on a page at most. */
const MOST_ROWS = 200;
/** With `all`: everything that a context stores of one kind. */
const ALL_ROWS = 1000;
/** Maximum characters of the rows of a page; its frame needs the rest. */
export const PAGE_BUDGET = 31_000;

export interface Page<T> {
  rows: T[];
  /** Index of the first row shown. */
  from: number;
  total: number;
  /** Index that the next page starts from; null on the last one. */
  next: number | null;
  /** Whether earlier rows are left out. */
  earlier: boolean;
}

export interface PageOptions<T> {
  query: Readonly<Record<string, string>>;
  /** Estimated length of a row as HTML. */
  cost: (row: T) => number;
}

function endOf<T>(rows: readonly T[], from: number, { query, cost }: PageOptions<T>): number {
  const all = query.all === '1';
  let spent = 0;
  let to = from;
  for (const row of rows.slice(from, from + (all ? ALL_ROWS : MOST_ROWS))) {
    spent += cost(row);
    if (!all && spent > PAGE_BUDGET && to > from) break;
    to++;
  }
  return to;
}

function idOf(row: unknown): unknown {
  return typeof row === 'object' && row !== null && 'id' in row ? row.id : undefined;
}

/** Where the page begins: at `from` of the address, or so that it contains the row whose id is `open`. */
function beginOf<T>(rows: readonly T[], options: PageOptions<T>): number {
  const { from, open } = options.query;
  const given = Number(from ?? 0);
  if (Number.isInteger(given) && given > 0 && given < rows.length) return given;
  if (open === undefined || open === '' || from !== undefined) return 0;
  const at = rows.findIndex((row) => idOf(row) === open);
  return at < endOf(rows, 0, options) ? 0 : at;
}

/** The rows that `from`, `open` and `all` of the address ask for. */
export function pageOf<T>(rows: readonly T[], options: PageOptions<T>): Page<T> {
  const from = beginOf(rows, options);
  const to = endOf(rows, from, options);
  return {
    rows: rows.slice(from, to),
    from,
    total: rows.length,
    next: to < rows.length ? to : null,
    earlier: from > 0,
  };
}

/** `?panel=logs&level=warn`: an address on the same page; empty values are left out. */
export function addressOf(panel: string, query: Readonly<Record<string, string | number | null>>): string {
  const search = new URLSearchParams({ panel });
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== '') search.set(name, String(value));
  }
  return `?${search.toString()}`;
}

/** To the microsecond: pages round once, when they show it. */
export function round(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}

export function roundOrNull(ms: number | null): number | null {
  return ms === null ? null : round(ms);
}

type Timed = Readonly<{ startMs: number; durationMs: number | null }>;

/** A fact with its times rounded; work that still runs has no duration. */
export function withRoundedTimes<T extends Timed>(fact: T): T {
  return { ...fact, startMs: round(fact.startMs), durationMs: roundOrNull(fact.durationMs) };
}

/** Members of a list by their indexes. */
export function pick<Item extends object>(list: readonly Item[], indexes: readonly number[]): Item[] {
  return indexes.flatMap((index) => list[index] ?? []);
}

/** Sum of the durations; concurrent work counts twice. */
export function totalMs(all: readonly Pick<Timed, 'durationMs'>[]): number {
  return all.reduce((sum, { durationMs }) => sum + (durationMs ?? 0), 0);
}

/** `15.0 ms of the request`, beside a sum of durations that ran concurrently in part; undefined if none did. */
export function concurrentNote(totals: { durationMs: number; busyMs: number }): string | undefined {
  const { durationMs, busyMs } = totals;
  return durationMs - busyMs < 0.05 ? undefined : `${numberHelpers.durationText(busyMs)} of the request`;
}

/** Milliseconds covered by any of the intervals: concurrent work counts once. */
export function coveredMs(intervals: readonly Timed[]): number {
  const isSorted = intervals.every(
    (one, index) => one.startMs >= (intervals[index - 1]?.startMs ?? -Infinity),
  );
  const sorted = isSorted ? intervals : intervals.toSorted((a, b) => a.startMs - b.startMs);
  let covered = 0;
  let until = -Infinity;
  for (const { startMs, durationMs } of sorted) {
    const end = startMs + (durationMs ?? 0);
    covered += Math.max(0, end - Math.max(startMs, until));
    until = Math.max(until, end);
  }
  return covered;
}
