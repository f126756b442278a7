/**
 * Two requests at once: which rows, keys and locks both touched, in which order, and who wrote over whom. The overview and the findings ask
 * the same function. Silent where texts or times leave it open.
 */
import type { ProfileHead } from '../../profiler/profile.ts';
import type { EarlierRequest } from '../../profiler/read/finding-rule.ts';
import { addTo } from '../../profiler/group-by.ts';
import { isMasked } from '../../profiler/masking/redact.ts';
import { endsTransaction, isControl, rollsBack } from '../../profiler/transaction-sql.ts';
import type { Kept as AllKept } from './panel-data.ts';
import { receivedBy } from './received.ts';
import { endOf } from './rows.ts';
import { isSameRow, type RowTouched, rowTouched } from './row-touched.ts';
import { labelOfStatement } from './about-statement.ts';
import { isRead } from './statements.ts';

/** Another request, and what it shared with this one. */
export interface Overlap {
  head: ProfileHead;
  /** When it began, in the time of this request; negative: before it. */
  startMs: number;
  shared: Shared[];
}

export interface Shared {
  kind: 'row' | 'key' | 'connection' | 'lock' | 'statement';
  name: string;
  /** What each did with it, in order; empty for a lock or connection that one held and the other waited for. */
  steps: Step[];
  /** `read here, read there, written there, written here` */
  order: string;
  race: Race | null;
}

export interface Step {
  isHere: boolean;
  does: 'read' | 'written';
  atMs: number;
  place: string | null;
}

export interface Race {
  /** `over`: this request wrote over the other. `under`: the other wrote over this one. `both`: neither saw the other, the order is open. */
  who: 'over' | 'under' | 'both';
  columns: string[];
  of: string;
  isInsert: boolean;
  label: string;
  anchor: string;
  panel: 'database' | 'cache';
  place: string | null;
  staleMs: number;
}

export interface Times {
  from: number;
  to: number;
}

interface Touch extends Times {
  kind: 'row' | 'key';
  does: Step['does'];
  name: string;
  label: string;
  panel: Race['panel'];
  anchor: string;
  place: string | null;
  /** When others see it: the commit of its transaction. */
  seen: Times;
  row: RowTouched | null;
  rows: number | null;
}

type Kept = Partial<AllKept>;
type KeptQueries = Pick<AllKept['database'], 'statements' | 'queries'>;
type Query = KeptQueries['queries'][number];
type Command = AllKept['cache']['items'][number];

const MOST_TOUCHES = 200;
const MOST_SHARED = 5;
/** Milliseconds by which the clocks of two requests may differ: those of one process don't. */
const SLACK_MS = 2;
const SAME_CLOCK_MS = 0.05;
/** Shorter statements that happen to be the same say nothing. */
const SAME_FROM_MS = 10;
/** Columns that each write sets to its own moment. */
const OF_A_MOMENT = /(?:_at|At|_on|_time|timestamp|modified|updated|seen)$/i;

/** When others see what a statement wrote: the commit of its transaction, Infinity if there was none; null: it was rolled back. */
export function seenTimes(database: KeptQueries, query: Query): Times | null {
  if (query.transaction === null) return { from: query.startMs, to: endOf(query) };
  const sqlOf = ({ statement }: Query): string => database.statements[statement]?.sql ?? '';
  const end = database.queries.findLast(
    (one) =>
      one.transaction === query.transaction &&
      one.connection === query.connection &&
      endsTransaction(sqlOf(one)),
  );
  if (end === undefined) return { from: Infinity, to: Infinity };
  return rollsBack(sqlOf(end)) ? null : { from: end.startMs, to: endOf(end) };
}

function rowTouches(database: KeptQueries): Touch[] {
  return database.queries.slice(0, MOST_TOUCHES).flatMap((query, index): Touch[] => {
    const { caller, durationMs, error, rows, startMs } = query;
    const statement = database.statements[query.statement];
    if (statement === undefined || error !== null || durationMs === null) return [];
    const row = rowTouched(statement.sql, query.bindings, statement.system);
    // What a lock guards is not stale; outside of a transaction, it guards nothing.
    if (row === null || (row.isLocking && query.transaction !== null)) return [];
    const does = row.does === 'read' || row.does === 'count' ? 'read' : 'written';
    // It found nothing to change.
    if (does === 'written' && rows === 0) return [];
    const seen = seenTimes(database, query);
    if (seen === null) return [];
    const where = [...row.where].map(([column, value]) => `${column} = ${value}`).join(', ');
    return [
      {
        kind: 'row',
        does,
        name: `${row.table} where ${where}`,
        label: labelOfStatement(statement),
        panel: 'database',
        anchor: `q${index + 1}`,
        place: caller,
        from: startMs,
        to: startMs + durationMs,
        seen,
        row,
        rows,
      },
    ];
  });
}

export const READS_KEY = /^(?:GET|HGET|HGETALL|JSON\.GET)$/;
const WRITES_KEY =
  /^(?:SET|SETEX|PSETEX|GETSET|HSET|HMSET|DEL|UNLINK|INCR|INCRBY|INCRBYFLOAT|DECR|DECRBY|HINCRBY|HDEL|APPEND|JSON\.SET)$/;

function keyTouches(commands: readonly Command[]): Touch[] {
  return commands.slice(0, MOST_TOUCHES).flatMap((one, index): Touch[] => {
    const { system, command, key, args, startMs, durationMs, error, hits, caller, connection } = one;
    const isRead_ = READS_KEY.test(command);
    if (key === null || isMasked(key) || durationMs === null || error !== null) return [];
    if (!isRead_ && !WRITES_KEY.test(command)) return [];
    const [field] = args;
    const isField = /^H(?:GET|SET|DEL|INCRBY)$/.test(command) && field !== undefined;
    const times = { from: startMs, to: startMs + durationMs };
    return [
      {
        kind: 'key',
        does: isRead_ ? 'read' : 'written',
        name: isField ? `${key} ${field.value}` : system === 'memory' ? `${key} of ${connection}` : key,
        label: command,
        panel: 'cache',
        anchor: `k${index + 1}`,
        place: caller,
        ...times,
        seen: times,
        row: null,
        rows: hits,
      },
    ];
  });
}

function touchesOf({ database, cache }: Kept, shiftMs = 0): Touch[] {
  const rows = database === undefined ? [] : rowTouches(database);
  const keys = keyTouches(cache?.items ?? []);
  return [...rows, ...keys].map((touch) => ({
    ...touch,
    from: touch.from + shiftMs,
    to: touch.to + shiftMs,
    seen: { from: touch.seen.from + shiftMs, to: touch.seen.to + shiftMs },
  }));
}

function isSame(a: Touch, b: Touch): boolean {
  if (a.kind !== b.kind) return false;
  return a.row === null || b.row === null ? a.name === b.name : isSameRow(a.row, b.row);
}

/** It read what the write then changed: the columns, or that there is no such row, or how many. */
function restsOn(write: Touch, read: Touch): boolean {
  if (read.to > write.from || !isSame(write, read)) return false;
  if (write.row === null || read.row === null) return (read.rows ?? 0) > 0;
  if (write.row.does === 'insert') return read.row.does === 'count' || read.rows === 0;
  return write.row.does === 'update' && read.row.does === 'read' && read.rows === 1;
}

/** What the later of two writes takes from the earlier one; null: nothing. */
function lostColumns(
  later: Touch,
  earlier: Touch,
  read: Touch,
  received: ReadonlySet<string>,
): string[] | null {
  if (later.row === null || earlier.row === null)
    return later.label === 'SET' || later.label === 'HSET' ? [] : null;
  if (later.row.does === 'insert') return earlier.row.does === 'insert' ? [] : null;
  // It says which state it expects.
  if (later.row.hasMore || [...later.row.where.keys()].some((column) => earlier.row?.sets.has(column)))
    return null;
  const lost = [...later.row.sets].flatMap(([column, value]) => {
    if (value === null || received.has(value) || isMasked(value) || OF_A_MOMENT.test(column)) return [];
    const before = earlier.row?.sets.get(column);
    // Both set the same state: no change is lost. Two that count to the same number lose one.
    const isSameState = before === value && !/^-?\d/.test(value);
    const wasRead = read.row?.reads(column) === true;
    return before === undefined || isSameState || !wasRead ? [] : [column];
  });
  return lost.length === 0 ? null : lost;
}

interface Side {
  touches: readonly Touch[];
  /** By each value that their rows are found by, or by the name of the key: a request may touch hundreds. */
  byPart: ReadonlyMap<string, readonly Touch[]>;
  received: ReadonlySet<string>;
}

function partsOf({ kind, name, row }: Touch): string[] {
  return row === null
    ? [`${kind} ${name}`]
    : Array.from(row.where, ([column, value]) => `${row.table} ${column} ${value}`);
}

function sideOf({ head, kept }: EarlierRequest<Kept>, shiftMs = 0): Side {
  const touches = touchesOf(kept, shiftMs);
  const byPart = new Map<string, Touch[]>();
  for (const touch of touches) for (const part of partsOf(touch)) addTo(byPart, part, touch);
  return { touches, byPart, received: receivedBy(head, kept) };
}

/** The same row or key, in the order in which it was touched. */
function sameIn({ byPart }: Side, touch: Touch): Touch[] {
  const some = new Set(partsOf(touch).flatMap((part) => byPart.get(part) ?? []));
  return [...some].filter((one) => isSame(one, touch)).toSorted((a, b) => a.from - b.from);
}

/** What this write of this request lost to, or took from, a write of the other. */
function raceOf(write: Touch, here: Side, there: Side, slackMs: number): Race | null {
  const readBefore = (side: Side, of: Touch): Touch | undefined =>
    sameIn(side, of).findLast((touch) => touch.does === 'read' && restsOn(of, touch));
  const read = readBefore(here, write);
  if (read === undefined) return null;
  for (const other of sameIn(there, write.row?.does === 'insert' ? read : write)) {
    // Only what this request read before can be stale.
    if (other.does !== 'written' || read.to + slackMs > other.seen.from) continue;
    const otherRead = readBefore(there, other);
    const isFirst = other.to + slackMs <= write.from;
    const neitherSaw = otherRead !== undefined && otherRead.to + slackMs <= write.seen.from;
    const isSecond = write.to + slackMs <= other.from;
    if (!isFirst && !neitherSaw) continue;
    const taken = isSecond ? null : lostColumns(write, other, read, here.received);
    const given = isFirst || !neitherSaw ? null : lostColumns(other, write, otherRead, there.received);
    const columns = taken ?? given;
    if (columns === null) continue;
    return {
      who: isFirst ? 'over' : isSecond ? 'under' : 'both',
      columns,
      of: write.row?.table ?? write.name,
      isInsert: write.row?.does === 'insert',
      label: write.label,
      anchor: write.anchor,
      panel: write.panel,
      place: write.place,
      staleMs: write.from - read.to,
    };
  }
  return null;
}

function stepsOf(here: readonly Touch[], there: readonly Touch[]): Step[] {
  const steps = [
    ...here.map((touch) => ({ touch, isHere: true })),
    ...there.map((touch) => ({ touch, isHere: false })),
  ];
  return steps
    .sort((a, b) => a.touch.to - b.touch.to)
    .map(({ touch, isHere }) => ({ isHere, does: touch.does, atMs: touch.from, place: touch.place }));
}

function orderText(steps: readonly Step[]): string {
  const words = steps.map(({ does, isHere }) => `${does} ${isHere ? 'here' : 'there'}`);
  return words.filter((word, at) => word !== words[at - 1]).join(', ');
}

function columnsOf({ row }: Touch): number {
  return row?.where.size ?? 0;
}

/** Rows and keys that both touched and one of them wrote. */
function touchedByBoth(here: Side, there: Side, slackMs: number): Shared[] {
  const shared = new Map<Touch, Shared>();
  for (const touch of here.touches) {
    const race = touch.does === 'written' ? raceOf(touch, here, there, slackMs) : null;
    // A write that also names the version that it expects is about the row that was read.
    const own = sameIn(here, touch);
    const known = own.map((one) => shared.get(one)).find((one) => one !== undefined);
    if (known !== undefined) {
      known.race ??= race;
      continue;
    }
    const others = sameIn(there, touch);
    const all = [...own, ...others];
    const isWritten = all.some(({ does }) => does === 'written');
    if (race === null && (others.length === 0 || !isWritten)) continue;
    const steps = stepsOf(own, others);
    // Not all of them say what only some compare.
    const name = all.reduce((least, one) => (columnsOf(one) < columnsOf(least) ? one : least), touch).name;
    shared.set(touch, { kind: touch.kind, name, steps, order: orderText(steps), race });
  }
  return [...shared.values()];
}

function sameStatements(here: KeptQueries, there: KeptQueries, shiftMs: number): Shared[] {
  const keyOf = (database: KeptQueries, { statement, bindings }: Query): string =>
    JSON.stringify([database.statements[statement]?.sql, bindings.map(({ value }) => value)]);
  const isSlow = ({ durationMs }: Query): boolean => (durationMs ?? 0) >= SAME_FROM_MS;
  const others = new Map(there.queries.filter(isSlow).map((query) => [keyOf(there, query), query]));
  return here.queries.slice(0, MOST_TOUCHES).flatMap((query): Shared[] => {
    if (!isSlow(query)) return [];
    const statement = here.statements[query.statement];
    const key = keyOf(here, query);
    const other = others.get(key);
    const isCut = query.bindings.some(({ type }) => type === 'cut');
    if (statement === undefined || other === undefined || isCut) return [];
    if (isControl(statement.sql) || !isRead(statement.sql)) return [];
    if (isMasked(key)) return [];
    if (other.startMs + shiftMs > endOf(query) || endOf(other) + shiftMs < query.startMs) return [];
    const steps: Step[] = [
      { isHere: true, does: 'read' as const, atMs: query.startMs, place: query.caller },
      { isHere: false, does: 'read' as const, atMs: other.startMs + shiftMs, place: other.caller },
    ].sort((a, b) => a.atMs - b.atMs);
    const order = 'ran in both at the same time';
    return [{ kind: 'statement', name: labelOfStatement(statement), steps, order, race: null }];
  });
}

function heldByOne(waits: KeptQueries, holder: string, isHere: boolean): Shared[] {
  const [held, waited] = isHere ? ['held there', 'waited for here'] : ['held here', 'waited for there'];
  const order = `${held}, ${waited}`;
  return waits.queries.flatMap(({ lockedBy, heldBy = [] }): Shared[] => {
    const connections = heldBy.some(({ profile }) => profile === holder);
    return [
      ...(lockedBy?.profile === holder
        ? [{ kind: 'lock' as const, name: `rows of ${lockedBy.table}`, steps: [], order, race: null }]
        : []),
      ...(connections
        ? [{ kind: 'connection' as const, name: 'a connection of the pool', steps: [], order, race: null }]
        : []),
    ];
  });
}

const NO_QUERIES: KeptQueries = { statements: [], queries: [] };

function withoutRepeats(shared: readonly Shared[]): Shared[] {
  const first = shared.filter(
    ({ kind, name, order }, at) =>
      shared.findIndex((one) => one.kind === kind && one.name === name && one.order === order) === at,
  );
  return first.sort((a, b) => Number(a.race === null) - Number(b.race === null)).slice(0, MOST_SHARED);
}

/** How much later another request began than this one, in this one's time, and by how much that may be wrong. */
export function clockOf(
  own: EarlierRequest<Kept>,
  other: EarlierRequest<Kept>,
): { shiftMs: number; slackMs: number } {
  const [mark, otherMark] = [own.kept.runtime?.startMark, other.kept.runtime?.startMark];
  return own.head.process === other.head.process && mark !== undefined && otherMark !== undefined
    ? { shiftMs: otherMark - mark, slackMs: SAME_CLOCK_MS }
    : { shiftMs: other.head.startedAt - own.head.startedAt, slackMs: SLACK_MS };
}

export function overlapsOf(request: EarlierRequest, overlapping: readonly EarlierRequest[]): Overlap[] {
  const { head, kept } = request as EarlierRequest<Kept>;
  const here = sideOf({ head, kept });
  const database = kept.database ?? NO_QUERIES;
  return (overlapping as readonly EarlierRequest<Kept>[])
    .map((other): Overlap => {
      const { shiftMs, slackMs } = clockOf({ head, kept }, other);
      const there = sideOf(other, shiftMs);
      const others = other.kept.database ?? NO_QUERIES;
      return {
        head: other.head,
        startMs: shiftMs,
        shared: withoutRepeats([
          ...touchedByBoth(here, there, slackMs),
          ...heldByOne(database, other.head.token, true),
          ...heldByOne(others, head.token, false),
          ...sameStatements(database, others, shiftMs),
        ]),
      };
    })
    .sort((a, b) => a.startMs - b.startMs);
}
