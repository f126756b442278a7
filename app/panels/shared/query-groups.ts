/** Groups of statements: one that a loop repeats, and one that runs twice with the same values. */
import { isRecord } from '../../profiler/json.ts';
import { isControl } from '../../profiler/transaction-sql.ts';
import type { Facts } from '../../profiler/record/facts.ts';
import { givenValue } from './read-statement.ts';
import { areApart } from './loop-path.ts';
import { endOf, pick } from './rows.ts';
import { aboutStatement } from './about-statement.ts';
import { isRead, significant } from './statements.ts';
import { addTo } from '../../profiler/group-by.ts';

type Query = Facts['query'];

/** `n+1`: reads in a loop. `loop`: writes in a loop. `duplicate`: values and rows are the same, too; `repeated`: the values. `pages`: a loop that reads page by page, or from row to row. */
export type GroupKind = 'n+1' | 'loop' | 'duplicate' | 'repeated' | 'pages';

export interface QueryGroup {
  kind: GroupKind;
  members: number[];
}

/** How often its statement ran, including runs past the recording limit. */
export function timesOf({ members, more = 0 }: { members: readonly number[]; more?: number }): number {
  return members.length + more;
}

/** Equal for statements that a loop repeats. */
export function repeatKey(caller: string | null, shape: string): string {
  return `${caller ?? ''}\n${shape}`;
}

const LOOP_FROM = 3;

const AFTER = new Set(['<', '>', '<=', '>=']);

function pageOf({ sql, system, bindings }: Query): { size: number; advances: boolean } | null {
  const read = aboutStatement(sql, system).read;
  if (read === null || read.limit === null) return null;
  const size = Number(
    givenValue(
      read.limit,
      bindings.map((value) => ({ name: '', value })),
    ) ?? Number.NaN,
  );
  const advances = read.offset !== null || (read.where ?? []).some(({ operator }) => AFTER.has(operator));
  return Number.isFinite(size) ? { size, advances } : null;
}

/** Each read is a full page, after the one before it, from an offset or key that advances. */
function arePages(reads: readonly Query[]): boolean {
  const [first] = reads;
  const size = first === undefined ? 0 : (pageOf(first)?.size ?? 0);
  if (size < 2) return false;
  return reads.every((read, index) => {
    const before = reads[index - 1];
    const isLater = before === undefined || read.startMs >= endOf(before);
    const isFull = index === reads.length - 1 ? (read.rows ?? 0) <= size : read.rows === size;
    if (!isLater || !isFull) return false;
    const page = pageOf(read);
    // The first page of all may have no key yet.
    return page?.size === size && (page.advances || index === 0);
  });
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Bound, and in the text, where some ORMs write them. */
function valuesOf({ sql, system, bindings }: Query): string[] {
  const literals = significant(sql, system).flatMap(([kind, text]) =>
    kind === 's' || (kind === 'd' && /^\d/.test(text)) ? [text.replace(/^'|'$/g, '')] : [],
  );
  return [...bindings.map(textOf), ...literals];
}

/** Columns of the rows of a read that hold the one value with which the next read, sent later, differs. */
function columnsToNext(read: Query, next: Query): Set<string> {
  const [before, values] = [valuesOf(read), valuesOf(next)];
  const differing = new Set(values.filter((value, at) => value !== before[at]));
  if (next.startMs < endOf(read) || values.length !== before.length || differing.size !== 1) return new Set();
  const rows = (read.found ?? []).flatMap((row) => (isRecord(row) ? Object.entries(row) : []));
  return new Set(rows.flatMap(([name, value]) => (differing.has(textOf(value)) ? [name] : [])));
}

/** Each read is given a value of the row that the one before it found: the values are not known before. */
function isCursor([first, ...others]: readonly Query[]): boolean {
  let read = first;
  let columns: Set<string> | undefined;
  for (const next of others) {
    const found: Set<string> = read === undefined ? new Set() : columnsToNext(read, next);
    columns = new Set([...found].filter((name) => columns?.has(name) ?? true));
    if (columns.size === 0) return false;
    read = next;
  }
  return true;
}

/** Milliseconds between two runs of a loop after the response; a timer that the request started waits longer, and repeats nothing. */
const LONGEST_PAUSE = 5;

function hasPauses(runs: readonly Query[]): boolean {
  return runs.some(({ startMs }, index) => {
    const before = runs[index - 1];
    return before !== undefined && startMs - before.startMs - (before.durationMs ?? 0) > LONGEST_PAUSE;
  });
}

/** As far as they were recorded. */
function haveSameRows(runs: readonly Query[]): boolean {
  return new Set(runs.map(({ rows, found }) => JSON.stringify([rows, found]))).size === 1;
}

export function groupQueries(queries: readonly Query[], endMs: number | null = null): QueryGroup[] {
  const byShape = new Map<string, number[]>();
  queries.forEach(({ sql, system, caller, startMs }, index) => {
    if (sql === '' || isControl(sql)) return;
    const late = endMs !== null && startMs > endMs ? '\nlate' : '';
    addTo(byShape, repeatKey(caller, aboutStatement(sql, system).shape) + late, index);
  });
  const groups: QueryGroup[] = [];
  for (const [key, members] of byShape) {
    if (members.length < 2 || (key.endsWith('\nlate') && hasPauses(pick(queries, members)))) continue;
    const same = new Set(
      members.map((index) => JSON.stringify([queries[index]?.sql, queries[index]?.bindings])),
    );
    const [first = 0] = members;
    const sql = queries[first]?.sql ?? '';
    const isKnown = members.every((index) => queries[index]?.types?.includes('cut') !== true);
    if (same.size === 1 && isKnown && isRead(sql))
      groups.push({ kind: haveSameRows(pick(queries, members)) ? 'duplicate' : 'repeated', members });
    else if (members.length >= LOOP_FROM) {
      const ran = pick(queries, members);
      if (areApart(ran.map(({ path }) => path))) continue;
      const isInOrder = isRead(sql) && (arePages(ran) || isCursor(ran));
      groups.push({ kind: !isRead(sql) ? 'loop' : isInOrder ? 'pages' : 'n+1', members });
    }
  }
  return groups;
}

/** One statement could replace it. */
export function isLoop({ kind }: { kind: GroupKind }): boolean {
  return kind === 'n+1' || kind === 'loop';
}

export function loopPlace({ loop, caller }: { loop?: string; caller: string | null }): string | null {
  return loop ?? caller;
}
