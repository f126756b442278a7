/** Statements that repeat, are too many, fail, or give rows in another order. */
import { foundRows } from '../panels/shared/found-rows.ts';
import { objectsIn, parseBeginning } from '../panels/shared/json-leaves.ts';
import { timesOf } from '../panels/shared/query-groups.ts';
import { givenValue } from '../panels/shared/read-statement.ts';
import { coveredMs, pick } from '../panels/shared/rows.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import { groupBy } from '../profiler/group-by.ts';
import { isRecord, type Json } from '../profiler/json.ts';
import type { ProfileHead } from '../profiler/profile.ts';
import { rollsBackToSavepoint } from '../profiler/transaction-sql.ts';
import { type Database, endOf, type Needs, type Query, type Rule } from './shared/kept.ts';
import {
  draftAt,
  kindOf,
  labelOf,
  type Read,
  readOf,
  readsOf,
  rowOf,
  sqlOf,
  textOf,
  workOf,
} from './shared/queries.ts';
import { unawaitedIn } from './loops.ts';
import { isLogged, isOfStatement, wasSeen } from './shared/errors.ts';
import {
  DEADLOCK,
  DUPLICATE,
  fixOf,
  isPoolRefusal,
  isTriedAgain,
  oppositeOrder,
  refusedAfter,
} from './shared/statement-failures.ts';
import { packagesIn } from './shared/packages.ts';
import { repeatsIn } from './shared/repeats.ts';
import { arePolls, shareOfKind } from './shared/time.ts';
import { bracketed, brokeBy, count, duration, excerpt, failureOf, shareOf } from './shared/wording.ts';
import { limitOf } from './shared/statement-reasons.ts';
import { mediaTypeOf } from '../profiler/http-text.ts';

/** Reads that return something else each time or take a lock are repeated on purpose. */
const VOLATILE =
  /\b(?:nextval|setval|random|gen_random_\w+|uuid\w*|clock_timestamp|timeofday|pg_(?:try_)?advisory\w*|pg_sleep\w*|pg_notify)\s*\(|\bfor\s+(?:no\s+key\s+)?(?:update|share)\b/i;

/** How often each statement ran. The values of one that ran once need no comparison. */
function timesRan({ statements, queries }: Database): Uint16Array {
  const times = new Uint16Array(statements.length);
  for (const { statement } of queries) times[statement] = (times[statement] ?? 0) + 1;
  return times;
}

/** Identical reads, in runs that no write interrupts. A timer that the request started may run on after the response: it repeats nothing. */
function repeatedIn(database: Database, endMs: number | null): number[][] {
  const times = timesRan(database);
  return repeatsIn(database.queries, {
    isWrite: (query) => kindOf(database, query) === 'write',
    keyOf(query) {
      if (times[query.statement] === 1 || query.startMs > (endMs ?? Infinity)) return null;
      if (kindOf(database, query) !== 'read' || query.error !== null) return null;
      // A loop is reported as N+1.
      if (isLoop(database, query) || VOLATILE.test(sqlOf(database, query))) return null;
      // Two long values may be the same as far as they are recorded, and not be.
      if (query.bindings.some(({ type }) => type === 'cut')) return null;
      return `${query.statement}\n${query.instance}\n${JSON.stringify(query.bindings)}`;
    },
  });
}

function isLoop({ groups }: Database, { group }: Query): boolean {
  return group !== null && groups[group]?.kind === 'n+1';
}

const NAMED_PLACES = 3;

function placesText(places: ReadonlySet<string | null>): string {
  const known = [...places].filter((place) => place !== null);
  const more = known.length > NAMED_PLACES ? ', …' : '';
  const named = known.length < 2 ? '' : ` (${known.slice(0, NAMED_PLACES).join(', ')}${more})`;
  return `${count(places.size, 'place')}${named}`;
}

const repeatedStatement: Rule<Needs<'database', 'request'>> = {
  name: 'repeated-statement',
  needs: ['database'],
  labels: ['duplicate'],
  why: 'At least two reads of this request were identical, values included, and the request sent no write in between.',
  fix: 'Read once and pass the result on, or cache it for the duration of the request.',
  find({ database, request }, { durationMs: wholeMs }, from) {
    const { queries } = database;
    // An event stream asks again to see what has changed.
    if (mediaTypeOf(request?.response?.contentType ?? null) === 'text/event-stream') return [];
    if (queries.length < 2 || database.statements.length === queries.length) return [];
    const repeats = repeatedIn(database, wholeMs).flatMap((members) => {
      const of = pick(queries, members);
      const [first, second] = of;
      if (first === undefined || second === undefined || arePolls(of, from.time)) return [];
      // What it read again may decide about a write, or be changed by it.
      const isWriteSent = queries.some((query) => {
        const askedMs = query.startMs - query.waitMs;
        const isBetween = askedMs >= endOf(first) && askedMs < endOf(of.at(-1) ?? second);
        return isBetween && kindOf(database, query) === 'write';
      });
      if (isWriteSent) return [];
      const costMs = coveredMs(of.slice(1));
      const isConcurrent = of.every(
        (query) => query === first || query.startMs - query.waitMs < endOf(first),
      );
      const places = new Set(of.map(({ caller }) => caller));
      const where = places.size > 1 ? ` from ${placesText(places)}` : isConcurrent ? ' at the same time' : '';
      const what = `${labelOf(database, first)} ran ${count(of.length)} times with the same values${where}`;
      return [{ what, times: of.length, costMs, anchor: rowOf(members[1] ?? 0), place: second.caller }];
    });
    // One call of an ORM may send several statements: `SELECT DISTINCT` for the ids, then the rows.
    const alike = groupBy(repeats, ({ what, place }) => `${place ?? ''}\n${what}`);
    return [...alike.values()].flatMap(([first, ...others]): FindingDraft[] => {
      if (first === undefined) return [];
      const { what, times, anchor, place } = first;
      const costMs = others.reduce((sum, one) => sum + one.costMs, first.costMs);
      const sentence = `${what}; the repeats took ${shareOf(costMs, wholeMs)}`;
      const severity = times > 3 || (costMs >= 10 && costMs > (wholeMs ?? 0) / 10) ? 'warn' : 'info';
      return [{ severity, sentence, anchor, costMs, place }];
    });
  },
};

const MANY_STATEMENTS = 100;
/** A loop with this share of the statements is reported as a loop instead. */
const LOOP_SHARE = 0.5;

const manyQueries: Rule<Needs<'database'>> = {
  name: 'many-queries',
  needs: ['database'],
  labels: ['many queries'],
  why: 'The request sent at least 100 statements, not counting begin and commit, and no single loop sent half of them.',
  fix: 'Combine reads that belong together, read less, or cache data that rarely changes. The Database panel groups queries by statement.',
  find({ database }, { durationMs: wholeMs }, from) {
    const { queries, groups, totals, unkept } = database;
    if (queries.length < MANY_STATEMENTS) return [];
    // A timer that the request started may run on after the response.
    const during = queries.filter(({ startMs }) => startMs <= (wholeMs ?? Infinity));
    const isOver = during.length < queries.length;
    const total = workOf(database, during) + (isOver ? 0 : (unkept?.count ?? 0));
    const loop = Math.max(0, ...groups.map(timesOf));
    if (total < MANY_STATEMENTS || loop >= total * LOOP_SHARE) return [];
    const { ms: costMs } = shareOfKind(from.time, 'db');
    const sentence = `${count(total, 'statement')}, ${count(totals.statements)} distinct, took ${shareOf(costMs, wholeMs)}`;
    return [{ severity: 'warn', sentence, costMs }];
  },
};

/** The unique index did what it is for: this request had written that row, read what was there and went on with it, was to read only, or the client was refused. */
function isExpected(
  database: Database,
  index: number,
  { method, status }: Pick<ProfileHead, 'method' | 'status'>,
): boolean {
  const query = database.queries[index];
  if (query === undefined || status === null || !DUPLICATE.test(query.error ?? '')) return false;
  const hasWritten = database.queries
    .slice(0, index)
    .some(
      ({ statement, bindings, error }) =>
        error === null &&
        statement === query.statement &&
        bindings.length > 0 &&
        JSON.stringify(bindings) === JSON.stringify(query.bindings),
    );
  if (hasWritten || status >= 400 || method === 'GET') return status < 500;
  const table = readOf(database, query)?.table ?? null;
  return readsOf(database).some(
    ({ read, index: at }) => at > index && read.verb === 'select' && table !== null && read.table === table,
  );
}

/** The next statement on its connection undoes it: the application expects it to fail. */
function isUndone(database: Database, index: number): boolean {
  const { queries } = database;
  const failed = queries[index];
  const next = queries.find((query, at) => at > index && query.connection === failed?.connection);
  return failed?.transaction !== null && next !== undefined && rollsBackToSavepoint(sqlOf(database, next));
}

/** The lock of another transaction that it waited for. */
function lockText({ lockedBy }: Query): string {
  if (lockedBy === undefined) return '';
  const { waitedMs, table, what, place } = lockedBy;
  return `: it waited ${duration(waitedMs)} for a lock on rows of ${table} that a transaction of ${excerpt(what, 80)} held${bracketed(place)}`;
}

/** What followed from the failure, or led to it. */
function consequenceOf(database: Database, query: Query, order: string): string {
  const [refused, ...others] = refusedAfter(database, query);
  if (refused === undefined) return order === '' ? lockText(query) : order;
  const more = others.length === 0 ? '' : ` and ${count(others.length, 'other statement')}`;
  const caught = refused.startMs >= endOf(query) ? '; its error was caught' : '';
  return `${caught}; the transaction was aborted, so it refused ${labelOf(database, refused)}${bracketed(refused.caller)}${more}`;
}

const BY_CODE_FIX = 'Answer each kind of error as what it is: tell them apart by their code.';
const ABORTED_FIX =
  'PostgreSQL ends a transaction at its first failed statement, also if the error is caught: pass that error on, or give the statement a savepoint.';

const failedStatement: Rule<Needs<'database', 'request' | 'exception' | 'logs'>> = {
  name: 'failed-statement',
  needs: ['database'],
  labels: ['query failed', 'failure ignored', 'deadlock'],
  why: 'The database driver returned an error for a statement. The status is the one that this request sent. Not shown if its transaction was rolled back to a savepoint next and the status is no 5xx, or if the same work succeeded later.',
  fix: 'Pass the error on to the error handler, or handle it where you catch it. Catch only the error that you expect, by its code.',
  overlaps: ({ database }) => database.queries.some(({ error }) => DEADLOCK.test(error ?? '')),
  find({ database, request, exception, logs }, { method, status, outcome }, { overlapping }) {
    const { queries, totals } = database;
    const { headersAtMs = null } = request?.response ?? {};
    // What became of them was not waited for, which has a finding.
    const unawaited = new Set(unawaitedIn(database, headersAtMs).flatMap(({ group }) => group.members));
    const isHandled = (query: Query, index: number): boolean =>
      unawaited.has(index) ||
      isPoolRefusal(database, query) ||
      isTriedAgain(database, query) ||
      isExpected(database, index, { method, status }) ||
      ((status ?? 0) < 500 && isUndone(database, index));
    const recorded = queries.filter(({ error }) => error !== null).length;
    const left = queries.flatMap((query, index) =>
      query.error !== null && !isHandled(query, index) ? [{ query, index, error: query.error }] : [],
    );
    const failed = totals.failed - recorded + left.length;
    if (failed === 0) return [];
    const isLate = (one: Query): boolean => endOf(one) > (headersAtMs ?? Infinity);
    const isKnown = (one: (typeof left)[number]): boolean =>
      DUPLICATE.test(one.error) || isLogged(logs, [one.error], endOf(one.query));
    // One that nobody knows of comes first.
    const { query, index = 0 } = left.find((one) => !isKnown(one) && !isLate(one.query)) ?? left[0] ?? {};
    if (query === undefined) {
      const sentence = `${count(failed, 'statement')} failed past the recording limit`;
      return [{ broke: brokeBy(status), severity: 'warn', sentence }];
    }
    const { error, caller } = query;
    const refused = refusedAfter(database, query).length;
    const others = failed - 1 - refused;
    const more = others > 0 ? `, as did ${count(others, 'other statement')}` : '';
    const isRefusal = status !== null && status >= 400 && status < 500;
    const isDeadlock = DEADLOCK.test(error ?? '');
    const because = consequenceOf(
      database,
      query,
      isDeadlock ? oppositeOrder(database, query, overlapping) : '',
    );
    const what = `${labelOf(database, query)} failed (${excerpt(error ?? '')})${because}${more}${isRefusal ? `; this request answered ${status}` : ''}`;
    const failure = failureOf(
      { what, isLate: isLate(query), isKnown: left.every(isKnown) },
      { status, outcome },
    );
    if (failure === null) return [];
    const isThrown = exception?.errors.some((one) => wasSeen(one) && isOfStatement(one, database)) === true;
    const parts = [refused > 0 ? ABORTED_FIX : '', fixOf(error ?? '') ?? '', isRefusal ? BY_CODE_FIX : ''];
    const fix = parts.filter((part) => part !== '').join(' ');
    return [
      {
        ...failure,
        // Nobody heard of it.
        ...(isLate(query) && !left.every(isKnown) ? { severity: 'warn' } : {}),
        ...(isDeadlock ? { label: 'deadlock' } : {}),
        ...(isThrown && (status ?? 500) >= 500 ? { severity: 'bad' } : {}),
        anchor: rowOf(index),
        place: caller,
        ...(fix === '' ? {} : { fix }),
      },
    ];
  },
};

const queryNeverRun: Rule<Needs<'database'>> = {
  name: 'query-never-run',
  needs: ['database'],
  labels: ['query not run'],
  why: 'A Knex query became an insert, update or delete during this request, and it was neither run nor made part of another query.',
  fix: 'Await it (`await knex(…).update(…)`), or return it to whoever does: a Knex query is sent when its `then` is called.',
  find({ database }) {
    return (database.unrun ?? []).map(({ label, caller }, index) => ({
      broke: 'unseen',
      severity: 'bad',
      sentence: `${label} was built and never run: nothing awaited it`,
      anchor: `u${index + 1}`,
      place: caller,
    }));
  },
};

const settingLeft: Rule<Needs<'database'>> = {
  name: 'setting-left',
  needs: ['database'],
  labels: ['setting stays'],
  why: 'An earlier request set a value on this connection of the pool, for as long as the connection lives, and this request ran a statement on it without setting its own.',
  fix: 'Set it for one transaction only (`SET LOCAL`, `set_config(name, value, true)`), and set it for each request, also to an empty value. Or reset it before you release the connection (`RESET ALL`).',
  find({ database }) {
    return database.queries.flatMap((query, index): FindingDraft[] => {
      const { setting } = query;
      if (setting === undefined) return [];
      const { name, by, place } = setting;
      if (database.statements.some(({ sql }) => sql.includes(name))) return [];
      const sentence = `${labelOf(database, query)} ran with the ${excerpt(name, 60)} that an earlier request (${by}) had set on this connection`;
      return [{ ...draftAt({ query, index }, sentence, 'bad'), place }];
    });
  },
};

/** Names of conditions that say whose row it is. A filter that is not given is left out on purpose. */
const OWNER =
  /^(?:id|uuid|e?mail|(?:user|owner|author|tenant|customer|account|organi[sz]ation|org|company|member|team|workspace|client|patient|shop|store)_?id)$/i;

/** One row was asked for, and nothing says which. */
function isFirstOfAll(database: Database, query: Query): boolean {
  const read = readOf(database, query);
  return read?.verb === 'select' && read.where === null && limitOf(read, query) === 1;
}

const ORMS = [
  ['typeorm', '`invalidWhereValuesBehavior` of TypeORM'],
  ['@prisma/client', '`strictUndefinedChecks` of Prisma'],
] as const;

function dropFix(settings: string): string {
  return `Look at the name of the property: it may be spelled in another way where the value comes from. Refuse the request if the value is missing, and let the ORM throw (${settings}).`;
}

const conditionDropped: Rule<Needs<'database'>> = {
  name: 'condition-dropped',
  needs: ['database'],
  labels: ['condition dropped'],
  explains: ['field-lost'],
  why: 'TypeORM or Prisma was given a condition whose value is `undefined`, and left it out. Writes are flagged for any name, reads for ids and e-mail addresses, or if one row was asked for without any condition.',
  fix: dropFix(ORMS.map(([, setting]) => setting).join(', ')),
  find({ database }, _head, { shared }) {
    const names = packagesIn(shared.configuration);
    const [one, ...others] = ORMS.filter(([name]) => names.includes(name));
    const fix = one === undefined || others.length > 0 ? {} : { fix: dropFix(one[1]) };
    const said = new Set<string>();
    return database.queries.flatMap((query, index): FindingDraft[] => {
      const isForAny = kindOf(database, query) === 'write' || isFirstOfAll(database, query);
      const dropped = (query.dropped ?? []).filter((name) => isForAny || OWNER.test(name));
      const key = `${query.caller} ${dropped.join(' ')}`;
      if (dropped.length === 0 || query.error !== null || said.has(key)) return [];
      said.add(key);
      const sentence = `${labelOf(database, query)} ran without ${excerpt(dropped.join(', '), 80)}: the value was undefined, and the ORM leaves such a condition out`;
      return [{ ...draftAt({ query, index }, sentence, 'bad'), ...fix }];
    });
  },
};

const hookSkipped: Rule<Needs<'database'>> = {
  name: 'hook-skipped',
  needs: ['database'],
  labels: ['hook not run'],
  why: 'A bulk write of Sequelize or Mongoose wrote a field whose name is in a hook of the model. Such a write runs no hooks of single instances.',
  fix: 'Set the columns that the hook computes in the same statement. Or load the rows and save each of them, in one transaction.',
  find({ database }) {
    const said = new Set<string>();
    return database.queries.flatMap((query, index): FindingDraft[] => {
      const { skipped, caller, error, rows } = query;
      if (skipped === undefined || error !== null || rows === 0 || kindOf(database, query) !== 'write')
        return [];
      if (said.has(`${caller} ${skipped}`)) return [];
      said.add(`${caller} ${skipped}`);
      const many = rows === null ? '' : ` (${count(rows, 'row')})`;
      const sentence = `${labelOf(database, query)}${many} did not run ${excerpt(skipped, 40)} of the model, which uses a field that it wrote: a bulk write runs no hooks of instances`;
      return [draftAt({ query, index }, sentence, 'bad')];
    });
  },
};

type Row = Record<string, Json>;

/** Different keys that a statement asked for in one list; empty: it has none. */
function keysOf({ read, query }: Read): string[] {
  const bound = query.bindings.map(({ value }) => value).find((value) => Array.isArray(value));
  const listed = read.where?.find(({ operator }) => operator === 'in')?.values;
  const list = bound ?? listed?.map((value) => givenValue(value, query.bindings) ?? null) ?? [];
  const keys = list.map(textOf).filter((key) => key !== null);
  return keys.length === list.length && new Set(keys).size === keys.length ? keys : [];
}

/** The one column of rows whose values these are, each once, in this order or in any. */
function columnOf(rows: readonly Row[], keys: readonly string[], isInOrder: boolean): string | undefined {
  const textIn = (list: readonly (string | null)[]): string =>
    JSON.stringify(isInOrder ? list : list.toSorted());
  return Object.keys(rows[0] ?? {}).find(
    (column) => textIn([...new Set(rows.map((row) => textOf(row[column])))]) === textIn(keys),
  );
}

/** A column whose texts tell the rows apart. */
function tellingColumn(rows: readonly Row[]): string | undefined {
  return Object.keys(rows[0] ?? {}).find((column) => {
    const texts = rows.map((row) => row[column]);
    return (
      texts.every((text) => typeof text === 'string' && text.length > 2) &&
      new Set(texts).size === rows.length
    );
  });
}

function rowIn(object: Row, rows: readonly Row[], column: string): Row | undefined {
  return rows.find((row) => Object.values(object).includes(row[column] ?? null));
}

/** The keys of objects of the response that hold the row at the place of their key in the list, not the row of their key, with the key of that row; null: others hold their own. */
function misplaced(
  response: Json,
  parents: readonly Row[],
  rows: readonly Row[],
  keys: readonly string[],
): { key: string; wanted: string; held: string }[] | null {
  const [key, own] = [columnOf(parents, keys, true), columnOf(rows, keys, false)];
  const [title, name] = [tellingColumn(parents), tellingColumn(rows)];
  if (key === undefined || own === undefined || title === undefined || name === undefined) return null;
  const wrong = [];
  for (const object of objectsIn(response)) {
    const parent = rowIn(object, parents, title);
    const held = Object.values(object)
      .filter(isRecord)
      .map((part) => rowIn(part as Row, rows, name))
      .find((row) => row !== undefined);
    if (parent === undefined || held === undefined) continue;
    const wanted = textOf(parent[key]) ?? '';
    if (held !== rows[keys.indexOf(wanted)]) return null;
    const got = textOf(held[own]) ?? '';
    if (got !== wanted) wrong.push({ key, wanted, held: got });
  }
  return wrong;
}

const rowsOutOfOrder: Rule<Needs<'database' | 'request'>> = {
  name: 'rows-out-of-order',
  needs: ['database', 'request'],
  labels: ['rows in another order'],
  why: 'A statement asked for a list of keys and returned their rows in another order. In the response, objects hold the row that stands at the place of their key in the list, not the row with that key.',
  fix: 'Return the rows in the order of the keys: `const byId = new Map(rows.map((row) => [row.id, row])); return ids.map((id) => byId.get(id))`. DataLoader expects that of a batch function, and a database promises no order without ORDER BY.',
  find({ database, request }, { status }) {
    const response = parseBeginning(request.response?.text ?? '')?.value;
    if (status !== 200 || response === undefined) return [];
    return readsOf(database).flatMap((one): FindingDraft[] => {
      const { query, index } = one;
      const keys = keysOf(one);
      const rows = foundRows(query);
      if (keys.length < 2 || rows.length !== keys.length || query.rows !== keys.length) return [];
      if (columnOf(rows, keys, true) !== undefined) return [];
      for (const before of database.queries.slice(0, index)) {
        const wrong = misplaced(response, foundRows(before), rows, keys) ?? [];
        const [first] = wrong;
        if (first === undefined) continue;
        const sentence = `${labelOf(database, query)} returned its ${count(rows.length, 'row')} in another order than the ${count(keys.length, 'key')} it was given, and ${count(wrong.length, 'object')} of the response ${wrong.length === 1 ? 'holds' : 'hold'} the row of another key: ${excerpt(first.key, 40)} ${excerpt(first.wanted, 40)} got row ${excerpt(first.held, 40)}`;
        return [{ ...draftAt(one, sentence, 'bad'), broke: 'response' }];
      }
      return [];
    });
  },
};

export const queryRules: readonly Rule[] = [
  repeatedStatement,
  manyQueries,
  failedStatement,
  queryNeverRun,
  settingLeft,
  conditionDropped,
  hookSkipped,
  rowsOutOfOrder,
];
