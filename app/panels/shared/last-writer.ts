/**
 * Which other request wrote a row or a key last, before this one read it. A row is the same if the write has the values that the read asked for,
 * or the id of a row that it got. Marks of masked values differ from record to record, so they count as unknown, and if the last write
 * that may have changed the row is not certain, nobody is named.
 */
import type { EarlierRequest } from '../../profiler/read/finding-rule.ts';
import { isMasked } from '../../profiler/masking/redact.ts';
import type { Json } from '../../profiler/json.ts';
import { isControl } from '../../profiler/transaction-sql.ts';
import { atOnce, type Steps } from '../../profiler/turns.ts';
import { aboutStatement } from './about-statement.ts';
import { foundRows } from './found-rows.ts';
import { clockOf, READS_KEY, seenTimes, type Times } from './overlap.ts';
import type { Kept as AllKept } from './panel-data.ts';
import { PRIMARY_KEYS } from './primary-key.ts';
import { endOf } from './rows.ts';
import { isWithin, type RowTouched, rowTouched } from './row-touched.ts';
import { type Binding, isWholeBinding } from './sql-values.ts';
import { isWriting } from './statements.ts';

type Kept = Partial<AllKept>;
type Database = AllKept['database'];
type Query = Database['queries'][number];
type Values = ReadonlyMap<string, string>;
type Matches = 'yes' | 'no' | 'maybe';

export interface Written {
  request: EarlierRequest<Kept>;
  /** That is why nothing was found. */
  isDeleted: boolean;
  beforeMs: number;
  place: string | null;
  path: readonly string[] | undefined;
}

interface Read {
  /** `database 3`: panel and index. */
  at: string;
  from: number;
  to: number;
  /** Of what, on which server. */
  source: string;
  /** null: one key, which the source names. */
  row: RowTouched | null;
  found: readonly Values[];
  /** The same of joined rows, whose `id` may be that of any table. */
  cells: readonly Values[];
  isWhole: boolean;
  /** null: one row that was deleted may be missing among those that it got. */
  isFound: boolean | null;
}

interface Write {
  seen: Times;
  place: string | null;
  path: readonly string[] | undefined;
  isDeleted: boolean;
  /** `isOld`: by an earlier run of the application, which may have had other data. */
  matches(read: Read, isOld: boolean): Matches;
}

const MOST_READS = 100;
/** Columns by which a few rows are looked up. */
const KEY = /(?:^|_)(?:id|uuid|key|code|sku|slug|email|number)$|[a-z]Id$/;
const UPSERT = /\bon\s+(?:conflict|duplicate)\b/i;

const MOMENT = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d(?::?\d\d)?)$/;

/** One spelling of each moment. */
function spelled(value: string | number): string {
  const time = typeof value === 'string' && MOMENT.test(value) ? Date.parse(value) : NaN;
  return Number.isNaN(time) ? String(value) : new Date(time).toISOString();
}

function valuesOf(pairs: Iterable<readonly [string, Json]>): Map<string, string> {
  const values = new Map<string, string>();
  for (const [name, value] of pairs)
    if ((typeof value === 'string' && !isMasked(value)) || typeof value === 'number')
      values.set(name.toLowerCase(), spelled(value));
  return values;
}

function idOf(values: Values): string | undefined {
  return PRIMARY_KEYS.map((key) => values.get(key)).find((id) => id !== undefined);
}

/** Of a moment or an amount, a database may have another spelling. */
const COMPARABLE = [/^\d+$/, /^\D+$/];

function isOther(part: Values, whole: Values): boolean {
  return [...part].some(([column, value]) => {
    const found = whole.get(column) ?? value;
    const areAlike = COMPARABLE.some((kind) => kind.test(value) && kind.test(found));
    return areAlike && value.toLowerCase() !== found.toLowerCase();
  });
}

/** What tells tables of this name from others. */
function serverOf({ system, server }: Database['statements'][number]): string {
  return `${system ?? ''} ${server ?? ''}`;
}

/** A snapshot may be as old as the transaction. */
function readFrom({ queries }: Database, query: Query): number {
  if (query.transaction === null) return query.startMs;
  const first = queries.find(
    ({ transaction, connection }) => transaction === query.transaction && connection === query.connection,
  );
  return (first ?? query).startMs;
}

function rowReads(database: Database): Read[] {
  return database.queries.flatMap((query, index): Read[] => {
    const statement = database.statements[query.statement];
    if (statement === undefined || query.error !== null || query.durationMs === null || query.rows === null)
      return [];
    const row = rowTouched(statement.sql, query.bindings, statement.system, { mayJoin: true });
    if (row === null || (row.does !== 'read' && row.does !== 'count')) return [];
    const isOne = row.does === 'read' && query.rows === 1;
    const {
      where = null,
      joins = 0,
      limit = null,
    } = aboutStatement(statement.sql, statement.system).read ?? {};
    if (!isOne && !where?.some(({ column }) => KEY.test(column) && row.where.has(column.toLowerCase())))
      return [];
    const isById = PRIMARY_KEYS.some((key) => row.where.has(key));
    const isPlain = row.does === 'read' && joins === 0;
    const cells =
      row.does === 'count' ? [] : foundRows(query).map((found) => valuesOf(Object.entries(found)));
    return [
      {
        at: `database ${index}`,
        from: readFrom(database, query),
        to: endOf(query),
        source: serverOf(statement),
        row: { ...row, hasMore: row.hasMore || (limit !== null && !isById) },
        found: isPlain ? cells : [],
        cells,
        isWhole: isPlain && query.rows === query.found?.length,
        isFound: query.rows === 0 ? false : isById && row.does === 'read' ? true : null,
      },
    ];
  });
}

/** The rows of an INSERT: the names of its values begin anew with each. What follows them is of an upsert. */
export function insertedRows(bindings: readonly Binding[]): Binding[][] {
  const names = bindings.map(({ name }) => name);
  const again = names.findIndex((name, at) => names.indexOf(name) < at);
  const width = again === -1 ? names.length : again;
  const rows: Binding[][] = [];
  for (let at = 0; width > 0 && at < names.length; at += width) {
    const row = bindings.slice(at, at + width);
    if (at > 0 && row.some(({ name }, column) => name !== names[column])) break;
    rows.push(row);
  }
  return rows;
}

/** The rows as they are after the write, as far as the record says; empty: it does not. */
function rowsAfter(
  { bindings, insertedId, ...query }: Query,
  isInsert: boolean,
  row: RowTouched | null,
): Values[] {
  const returned = foundRows({ bindings, ...query }).map((found) => valuesOf(Object.entries(found)));
  if (isInsert) {
    const rows = insertedRows(bindings).flatMap((row) => {
      const values = valuesOf(row.filter(isWholeBinding).map(({ name, value }) => [name, value]));
      // Rows follow that were not recorded.
      return row.some(({ name }) => name === '…') ? [values, new Map<string, string>()] : [values];
    });
    const isEach = returned.length === rows.length;
    return rows.length === 0
      ? returned
      : rows.map((values, at) => {
          const id = rows.length === 1 && insertedId !== undefined ? [['id', insertedId] as const] : [];
          return new Map([...id, ...values, ...(isEach ? (returned[at] ?? []) : [])]);
        });
  }
  if (row === null) return returned;
  const values = new Map(row.where);
  for (const [column, value] of row.sets)
    if (value === null) values.delete(column);
    else values.set(column, value);
  return [values];
}

/** Long enough to be of one row. */
const TELLING = 12;
const LEAST_CELLS = 2;

/** Whether a row has what was written: in several columns, and one of them is a moment or a long text. */
function hasCells(written: Values, found: Values, but: Values): boolean {
  const equal = [...written].filter(([column, value]) => !but.has(column) && found.get(column) === value);
  return (
    equal.length >= LEAST_CELLS &&
    equal.some(([, value]) => value.length >= TELLING) &&
    !isOther(new Map([...written].filter(([column]) => !PRIMARY_KEYS.includes(column))), found)
  );
}

interface Change {
  /** It has an id of its own. */
  isNew: boolean;
  /** null: an INSERT, or its text does not tell. */
  row: RowTouched | null;
  isOld: boolean;
}

function rowMatches(values: Values, { isNew, row, isOld }: Change, read: Read): Matches {
  const { where, hasMore } = read.row ?? { where: new Map<string, string>(), hasMore: true };
  const shared = [...where].filter(([column]) => values.has(column));
  if (shared.some(([column, value]) => values.get(column) !== value)) return 'no';
  const id = idOf(values);
  const ids = read.found.map(idOf);
  const conditions = new Map([...(row?.where ?? [])].filter(([column]) => row?.sets.has(column) !== true));
  const isSame =
    (!hasMore && shared.length === where.size) ||
    (id !== undefined && ids.includes(id)) ||
    (row?.hasMore === false &&
      [...read.found, where].some((found) => isWithin(row.where, new Map([...found, ...where]))));
  if (!isSame && read.cells.some((cells) => hasCells(values, cells, where))) return 'yes';
  if (isSame) {
    const got = read.found.length === 1 ? read.found[0] : read.found[id === undefined ? -1 : ids.indexOf(id)];
    const written = [...(row?.sets ?? values)].filter(
      ([column]) => !where.has(column) && !PRIMARY_KEYS.includes(column),
    );
    const isThere = written.some(([column, value]) => value !== null && got?.get(column) === value);
    // Something that was not recorded has written since.
    return isOther(values, got ?? values) || (isOld && !isThere) ? 'maybe' : 'yes';
  }
  const isAnother = read.found.every((found) => isOther(conditions, found));
  if (read.isWhole && (isAnother || (id !== undefined && !ids.includes(undefined)))) return 'no';
  return isNew && id === undefined && PRIMARY_KEYS.some((key) => where.has(key)) ? 'no' : 'maybe';
}

function rowWrites(database: Database): Write[] {
  return database.queries.flatMap((query): Write[] => {
    const statement = database.statements[query.statement];
    if (statement === undefined || query.error !== null || query.rows === 0) return [];
    const { sql, system } = statement;
    const seen = sql === '' || isControl(sql) || !isWriting(sql) ? null : seenTimes(database, query);
    if (seen === null) return [];
    const { operation, table } = aboutStatement(sql, system);
    const isInsert = operation.name === 'insert' || operation.name === 'replace';
    const isNew = operation.name === 'insert' && !UPSERT.test(sql);
    const row = isInsert ? null : rowTouched(sql, query.bindings, system);
    const isKnown = table !== undefined && /^(?:insert|replace|update|delete)$/.test(operation.name);
    const after = rowsAfter(query, isInsert, row);
    const server = serverOf(statement);
    return [
      {
        seen,
        place: query.caller,
        path: query.path,
        isDeleted: operation.name === 'delete',
        matches(of, isOld) {
          if (of.row === null || of.source !== server) return 'no';
          if (isKnown && table !== of.row.table) return 'no';
          if (!isKnown) return sql.toLowerCase().includes(of.row.table) ? 'maybe' : 'no';
          const all = after.map((values) => rowMatches(values, { isNew, row, isOld }, of));
          if (all.includes('yes')) return query.rows === null && !isInsert ? 'maybe' : 'yes';
          return all.length === 0 || all.includes('maybe') ? 'maybe' : 'no';
        },
      },
    ];
  });
}

const DELETES_KEY = /^(?:DEL|UNLINK|GETDEL)$/;
const WRITES_KEY =
  /^(?:SET|SETEX|PSETEX|SETNX|GETSET|MSET|HSET|HMSET|HSETNX|INCR|INCRBY|INCRBYFLOAT|DECR|DECRBY|HINCRBY|HINCRBYFLOAT|HDEL|APPEND|JSON\.SET)$/;
const MAY_WRITE_KEY = /^(?:EVAL|EVALSHA|FCALL|RENAME|COPY|RESTORE)$/;
/** Those whose 0 says that they did nothing. */
const NOT_DONE = /^(?:SET|SETNX|HSETNX|DEL|UNLINK|HDEL)$/;

type Command = AllKept['cache']['items'][number];

/** node-redis 4 does not tell its server. */
function sourceOf({ connection, client }: Command, key: string | null): string {
  return `redis ${connection ?? client} ${key}`;
}

function keyReads(commands: readonly Command[]): Read[] {
  return commands.flatMap((one, index): Read[] => {
    const { system, command, key, startMs, durationMs, error, hits } = one;
    if (system === 'memory' || key === null || isMasked(key) || durationMs === null || error !== null)
      return [];
    if (!READS_KEY.test(command) || hits !== 1) return [];
    const times = { from: startMs, to: endOf(one) };
    const source = sourceOf(one, key);
    return [
      {
        at: `cache ${index}`,
        ...times,
        source,
        row: null,
        found: [],
        cells: [],
        isWhole: false,
        isFound: true,
      },
    ];
  });
}

function keyWrites(commands: readonly Command[]): Write[] {
  return commands.flatMap((one): Write[] => {
    const { system, command, key, args, startMs, caller, path, error, reply } = one;
    if (system === 'memory') return [];
    const isKnown = WRITES_KEY.test(command) || DELETES_KEY.test(command);
    if (error !== null || !(isKnown || MAY_WRITE_KEY.test(command))) return [];
    if (reply === 0 && NOT_DONE.test(command)) return [];
    const more = command === 'MSET' || !isKnown ? args.map(({ value }) => value) : [];
    const sources = new Set([key, ...more].map((name) => sourceOf(one, name)));
    return [
      {
        seen: { from: startMs, to: endOf(one) },
        place: caller,
        path,
        isDeleted: DELETES_KEY.test(command),
        matches: ({ source }) => (!sources.has(source) ? 'no' : isKnown ? 'yes' : 'maybe'),
      },
    ];
  });
}

/** Who stored what a cache in the process had: the process knows it. */
function storers(commands: readonly Command[], others: readonly EarlierRequest<Kept>[]): [string, Written][] {
  return commands.flatMap(({ stored }, index): [string, Written][] => {
    const request = others.find(({ head }) => head.token === stored?.by);
    if (stored === undefined || request === undefined) return [];
    const { place, ms: beforeMs } = stored;
    return [[`cache ${index}`, { request, place, path: undefined, isDeleted: false, beforeMs }]];
  });
}

interface WriteOf extends Omit<Write, 'seen'>, Times {
  request: EarlierRequest<Kept>;
  isOld: boolean;
}

/** `writes`: the last one first. null: nobody, or it is not certain. */
function writerOf(read: Read, own: EarlierRequest<Kept>, writes: readonly WriteOf[]): Written | null {
  for (const { request, isOld, from, to, place, path, ...write } of writes) {
    const matches = from < read.to ? write.matches(read, isOld) : 'no';
    if (matches === 'no') continue;
    const isCertain = matches === 'yes' && request !== own && to <= read.from;
    if (!isCertain || write.isDeleted === read.isFound) return null;
    const isDeleted = read.isFound === false;
    return { request, place, path, isDeleted, beforeMs: Math.max(0, read.from - to) };
  }
  return null;
}

/** By panel and index of what read: `database 3`. `others`: requests before this one, and at the same time. */
export function* writerSteps(
  own: EarlierRequest<Kept>,
  others: readonly EarlierRequest<Kept>[],
): Steps<ReadonlyMap<string, Written>> {
  const { database, cache } = own.kept;
  const rows = database === undefined ? [] : rowReads(database);
  const keys = keyReads(cache?.items ?? []);
  const writesOf = ({ kept }: EarlierRequest<Kept>): Write[] => [
    ...(kept.database === undefined || rows.length === 0 ? [] : rowWrites(kept.database)),
    ...(keys.length === 0 ? [] : keyWrites(kept.cache?.items ?? [])),
  ];
  const beganAt = own.head.startedAt - (own.kept.runtime?.startMark ?? Infinity);
  const writes: WriteOf[] = [];
  for (const request of [own, ...others]) {
    const { shiftMs, slackMs } = clockOf(own, request);
    const isOld = request.head.process !== own.head.process && request.head.startedAt < beganAt;
    for (const { seen, ...write } of writesOf(request)) {
      const [from, to] = [seen.from + shiftMs - slackMs, seen.to + shiftMs + slackMs];
      writes.push({ ...write, request, isOld, from, to });
    }
    yield;
  }
  writes.sort((a, b) => b.to - a.to);
  const written = new Map(storers(cache?.items ?? [], others));
  for (const read of [...rows, ...keys].slice(0, MOST_READS)) {
    yield;
    const found = writerOf(read, own, writes);
    if (found !== null) written.set(read.at, found);
  }
  return written;
}

export function lastWriters(
  own: EarlierRequest<Kept>,
  others: readonly EarlierRequest<Kept>[],
): ReadonlyMap<string, Written> {
  return atOnce(writerSteps(own, others));
}
