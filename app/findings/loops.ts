/** Statements in a loop: reads that one could do, writes that one could do, and loops that nobody awaits. */
import { isWalk, oneQueryFor } from '../panels/shared/one-query.ts';
import { loopPlace, timesOf } from '../panels/shared/query-groups.ts';
import { eachText, pick } from '../panels/shared/rows.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import type { FixCode } from '../profiler/read/finding.ts';
import { type Database, endOf, type Needs, type Query, type Rule } from './shared/kept.ts';
import { kindOf, labelOf, readsOf, sqlOf, tablesOf } from './shared/queries.ts';
import { limitOf } from './shared/statement-reasons.ts';
import { count, shareOf } from './shared/wording.ts';

type Group = Database['groups'][number];

/** A cut value may be equal to another by its beginning only. */
function isCut({ bindings }: Query): boolean {
  return bindings.some(({ type }) => type === 'cut');
}

/** `, with 41 different values`: reads that asked for the same again could have been spared. */
function fewerValues(database: Database, group: Group): string {
  const reads = pick(database.queries, group.members);
  if (group.kind !== 'n+1' || timesOf(group) > reads.length || reads.some(isCut)) return '';
  const different = new Set(
    reads.map((read) => JSON.stringify([sqlOf(database, read), read.bindings.map(({ value }) => value)])),
  ).size;
  return different === reads.length ? '' : `, with ${count(different, 'different value')}`;
}

function loopsOf(database: Database, kind: Group['kind'], wholeMs: number | null) {
  return database.groups.flatMap((group, at) => {
    const { durationMs: costMs } = group;
    if (group.kind !== kind) return [];
    const place = loopPlace(group);
    const how = place === null ? 'that differ only in values' : 'in a loop';
    const each = eachText(pick(database.queries, group.members));
    // Their sum is no time of the request.
    const parallel = each.startsWith('in parallel') ? `, ${each}` : '';
    const sentence = `${count(timesOf(group))} × ${labelOf(database, group)} ${how}${fewerValues(database, group)}${parallel}: ${shareOf(costMs, wholeMs)}`;
    return [{ group, sentence, anchor: `g${at + 1}`, costMs, place }];
  });
}

/** null if the reads differ in more than one value, or one statement can't return what they read. */
function loopCode({ queries, statements }: Database, group: Group): FixCode | null {
  const sql = statements[group.statement]?.sql ?? '';
  const instead = oneQueryFor(queries, group, sql);
  if (instead === null) return null;
  const { column, text } = instead;
  const unique = /\blimit\b/i.test(sql) ? `, and that ${column} is unique: each read asked for one row` : '';
  return {
    language: 'sql',
    text: `${text}\n-- the list: all values of ${column} that the loop asked for`,
    assumes: `Assumes that the values are known before the loop${unique}. Find the rows of each value by ${column}.`,
  };
}

/** Bad from this many reads on, or from this share of the request and time on. */
const MANY = 10;
const HEAVY_SHARE = 0.2;
const HEAVY_MS = 20;
/** A list with such a limit can't grow, and reads in this time are no matter then. */
const SMALL_LIST = 5;
const SMALL_MS = 100;

/** Each read is for a row of a list with a small LIMIT, and they took no time that matters. */
function isBounded(database: Database, { members, durationMs }: Group): boolean {
  if (members.length > SMALL_LIST || durationMs >= SMALL_MS) return false;
  return readsOf(database).some(
    ({ read, query, index }) =>
      index < Math.min(...members) &&
      query.rows === members.length &&
      limitOf(read, query) <= SMALL_LIST &&
      limitOf(read, query) > 0,
  );
}

/** A database within the process takes no round trip, so such statements cost nothing that a single one would save. */
const IN_PROCESS = 'sqlite';
const FREE_READS_MS = 1;
const FREE_WRITES_MS = 5;

function isFree({ statements }: Database, { statement, durationMs, kind }: Group): boolean {
  return (
    statements[statement]?.system === IN_PROCESS &&
    durationMs < (kind === 'loop' ? FREE_WRITES_MS : FREE_READS_MS)
  );
}

/** The loop writes the table between its reads: one read before the loop would miss what it wrote. */
function writesBetween(database: Database, { members }: Group): boolean {
  const reads = readsOf(database);
  const first = database.queries[members[0] ?? -1];
  const tables = first === undefined ? new Set() : tablesOf(database, first);
  const writes = reads.filter(
    ({ read }) => read.verb !== 'select' && tables.has(read.table?.toLowerCase() ?? ''),
  );
  const gaps = members.slice(1).map((next, at) => [members[at] ?? next, next] as const);
  const written = gaps.filter(([from, to]) => writes.some(({ index }) => index > from && index < to));
  return written.length * 2 >= gaps.length;
}

const WALK_FIX =
  'Many values come from the row before: read the whole way with one statement (`with recursive`), or read the table once and follow the rows in memory. Keep in a `Map` what the loop reads again.';

const nPlusOne: Rule<Needs<'database'>> = {
  name: 'n-plus-one',
  needs: ['database'],
  labels: ['N+1'],
  why: 'At least three reads came from one line and differ only in values. Ignored: up to five quick ones for a list with such a LIMIT, SQLite under 1 ms, reads each given a value of the row before, and loops that write the table.',
  fix: 'Collect the values first, then read all rows with one statement (`where id in (…)`, `whereIn`, a join).',
  find({ database }, { durationMs: wholeMs }) {
    return loopsOf(database, 'n+1', wholeMs).flatMap(({ group, ...loop }): FindingDraft[] => {
      if (isBounded(database, group) || isFree(database, group) || writesBetween(database, group)) return [];
      const { durationMs } = group;
      const isDear = wholeMs !== null && durationMs > Math.max(HEAVY_MS, wholeMs * HEAVY_SHARE);
      const fix = isWalk(database.queries, group.members) ? { fix: WALK_FIX } : {};
      return [{ ...loop, ...fix, severity: timesOf(group) >= MANY || isDear ? 'bad' : 'warn' }];
    });
  },
  code({ anchor = '' }, { panels }) {
    const data = panels.database?.data as Database;
    const group = data.groups[Number(anchor.slice(1)) - 1];
    return group === undefined ? null : loopCode(data, group);
  },
};

/** Each has a transaction or savepoint of its own, as in a job that must not lose what it has done: no statement can write all. */
function isOneEach(database: Database, members: readonly number[]): boolean {
  const writes = pick(database.queries, members);
  const transactions = new Set(writes.map(({ transaction }) => transaction));
  if (transactions.has(null)) return false;
  if (transactions.size === writes.length) return true;
  return members
    .slice(1)
    .every((member, at) =>
      database.queries
        .slice(members[at], member)
        .some((query) => query.transaction === writes[0]?.transaction && isSavepoint(database, query)),
    );
}

function isSavepoint(database: Database, query: Query): boolean {
  return /^\s*savepoint\b/i.test(sqlOf(database, query));
}

/** Fewer runs are a loop only if they take this time and this share of the request. */
const MANY_WRITES = 10;
const DEAR_MS = 20;
const DEAR_SHARE = 0.1;

/** It calls the function for each item, or for each event, and goes on. */
const FOR_EACH = /\.(?:forEach\(|on\(\s*(?:'\w+'|"\w+")\s*,)\s*async\b/;

interface Unawaited {
  group: Group;
  anchor: string;
  /** Line of the `forEach`. */
  place: string;
  /** What called it: `forEach`, or an emitter. */
  by: string;
  /** Sent while the loop ran; null: the response was. */
  then: Query | null;
}

function askedMs({ startMs, waitMs }: Query): number {
  return startMs - waitMs;
}

/**
 * A pool gives its connections in the order in which they are asked for. The order of sending counts too: what the process did between
 * a connection and its statement is not part of the wait, so of two queries of one turn, the first may seem to be asked for later.
 */
function isBefore(one: Query, other: Query): boolean {
  return one.startMs <= other.startMs || askedMs(one) <= askedMs(other);
}

/** Loops of writes by the async function of a `forEach` or of a listener, during which the next write or the response was sent. */
export function unawaitedIn(database: Database, headersAtMs: number | null): Unawaited[] {
  const { queries, groups, excerpts = [] } = database;
  return groups.flatMap((group, at): Unawaited[] => {
    const caller = group.kind === 'loop' ? loopPlace(group) : null;
    const [, file = '', line = ''] = /^(.+):(\d+)$/.exec(caller ?? '') ?? [];
    const { from = 0, lines = [] } = excerpts.find(({ place }) => place === caller)?.excerpt ?? {};
    const above = lines.slice(0, Number(line) - from + 1).findLastIndex((text) => FOR_EACH.test(text));
    if (above === -1) return [];
    const runs = pick(queries, group.members);
    const isRunning = (atMs: number): boolean => runs.some((run) => endOf(run) > atMs);
    const then = queries.find(
      (query) =>
        query.caller !== group.caller &&
        kindOf(database, query) === 'write' &&
        runs.some((run) => isBefore(run, query)) &&
        isRunning(askedMs(query)),
    );
    const hasBegun = headersAtMs !== null && runs.some((run) => askedMs(run) <= headersAtMs);
    if (then === undefined && !(hasBegun && isRunning(headersAtMs))) return [];
    const by = lines[above]?.includes('.forEach') === true ? 'forEach' : 'an event emitter';
    return [{ group, anchor: `g${at + 1}`, place: `${file}:${from + above}`, by, then: then ?? null }];
  });
}

const loopNotAwaited: Rule<Needs<'database', 'request'>> = {
  name: 'loop-not-awaited',
  needs: ['database'],
  labels: ['loop not awaited'],
  why: 'The writes come from the async function of a `forEach`, or of a listener (`.on`), as its source shows, and the next write or the response was sent before they had ended.',
  fix: 'Use `for (const row of rows) await …`, or `await Promise.all(rows.map(async (row) => …))`: `forEach` does not wait. For a stream, that is `for await (const record of parser) …`.',
  find({ database, request }) {
    return unawaitedIn(database, request?.response?.headersAtMs ?? null).map(
      ({ group, anchor, place, by, then }): FindingDraft => {
        const what = then === null ? 'The response' : labelOf(database, then);
        const of = `${count(timesOf(group))} × ${labelOf(database, group)}`;
        const sentence = `${what} was sent while ${of} still ran: ${by} does not wait for its async function, so nothing that it counts or collects was known yet`;
        return { broke: 'response', severity: 'bad', sentence, anchor, place };
      },
    );
  },
};

/** Each statement writes many rows already. */
function isInChunks(database: Database, members: readonly number[]): boolean {
  const inserts = pick(database.queries, members).filter((query) =>
    /^\s*(?:insert|replace)\b/i.test(sqlOf(database, query)),
  );
  return inserts.length === members.length && inserts.slice(0, -1).every(({ rows }) => (rows ?? 0) > 1);
}

const writeLoop: Rule<Needs<'database', 'request'>> = {
  name: 'write-loop',
  needs: ['database'],
  labels: ['writes in a loop'],
  why: 'At least ten writes came from one line and differ only in their values, or at least three that took 20 ms and 10 % of the request. Ignored: each in its own transaction or savepoint, inserts of many rows, SQLite under 5 ms.',
  fix: 'Write all rows with one statement: a multi-row insert, an update from a list of values, `where id in (…)`.',
  find({ database, request }, { durationMs: wholeMs }) {
    const unawaited = unawaitedIn(database, request?.response?.headersAtMs ?? null);
    return loopsOf(database, 'loop', wholeMs).flatMap(({ group, ...loop }): FindingDraft[] => {
      const { members, durationMs } = group;
      const isDear =
        timesOf(group) >= MANY_WRITES || durationMs >= Math.max(DEAR_MS, (wholeMs ?? 0) * DEAR_SHARE);
      const isNamed = unawaited.some((one) => one.group === group) || isFree(database, group);
      return isDear && !isNamed && !isOneEach(database, members) && !isInChunks(database, members)
        ? [{ ...loop, severity: 'warn' }]
        : [];
    });
  },
};

export const loopRules: readonly Rule[] = [nPlusOne, loopNotAwaited, writeLoop];
