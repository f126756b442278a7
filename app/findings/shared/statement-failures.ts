/** Why a statement failed: the kind of its error with the fix, and the order of locks in a deadlock. */
import { isSameRow, type RowTouched, rowTouched } from '../../panels/shared/row-touched.ts';
import { queryNumbers } from '../../panels/shared/query-numbers.ts';
import { type Database, endOf, type OtherRequest, type Query } from './kept.ts';
import { addTo, groupBy } from '../../profiler/group-by.ts';
import { commits } from '../../profiler/transaction-sql.ts';
import { kindOf, sqlOf, transactionsOf } from './queries.ts';
import { excerpt, requestText } from './wording.ts';

export const DUPLICATE =
  /duplicate key value violates unique|^Duplicate entry|UNIQUE constraint failed|Violation of UNIQUE KEY|\bE11000\b/;
export const DEADLOCK = /\bdeadlock/i;
/** The database asks for the whole transaction once more. */
const TRY_AGAIN = /could not serialize|database is locked|SQLITE_BUSY|\bdeadlock|\block wait timeout/i;
/** PostgreSQL refuses each statement of a transaction after one of them has failed (25P02). */
const ABORTED = 'current transaction is aborted';

const FIXES: readonly (readonly [RegExp, string])[] = [
  [
    DEADLOCK,
    'Lock rows in the same order everywhere: sort the keys before the loop, or lock them all first (`order by id for update`). Run the whole transaction again if it was ended by a deadlock (1213, `40P01`).',
  ],
  ...(
    [
      [/^Duplicate entry/, '1062', '`insert ignore`, `on duplicate key update`'],
      [/\bE11000\b/, '11000', '`updateOne` with `upsert: true`'],
      [/UNIQUE KEY/, '2627', '`merge`, `where not exists`'],
      [/UNIQUE constraint/, '`SQLITE_CONSTRAINT_UNIQUE`', '`on conflict`'],
      [DUPLICATE, '`23505`', '`on conflict`'],
    ] as const
  ).map(
    ([kind, code, how]) =>
      [
        kind,
        `If the row may be there already, use a statement that does not fail (${how}). Else answer 409 to this error only, by its code (${code}).`,
      ] as const,
  ),
  [
    /too long|would be truncated/i,
    'Check the length before you send the statement, and refuse a longer value with a message about it, or make the column wider.',
  ],
  [
    /foreign key/i,
    'Check that the row exists that the value refers to, and answer 404 or 422 if not. If a row can’t be deleted, delete or move the rows that refer to it first.',
  ],
  [
    /not-null|NOT NULL|cannot be null|value NULL|have a default value/,
    'Require the value when you validate the request, or give the column a default.',
  ],
  [/check constraint/i, 'Check the same condition when you validate the request, and answer 422.'],
  [
    /timeout|timed out|canceling statement|execution time/i,
    'Find out what it waited for: a lock of another transaction, or a plan that reads too much (EXPLAIN). Keep transactions short.',
  ],
  [
    /could not serialize|database is locked|SQLITE_BUSY/i,
    'Run the whole transaction again, a few times with a pause.',
  ],
  [
    /syntax|no such (?:table|column)|Unknown column|doesn't exist|does not exist|Invalid (?:column|object) name/i,
    'Correct the statement. If a table or column is missing, run the migrations.',
  ],
  [
    /invalid input|invalid byte|out of range|incorrect \S+ value|conversion failed/i,
    'Check type and range of the value when you validate the request, and answer 400 or 422.',
  ],
  [
    /ECONN|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|terminat|Connection lost|too many (?:clients|connections)|authentication/i,
    'Check that the database runs, and that its address, password and limit of connections are right.',
  ],
];

/** undefined: of no known kind. */
export function fixOf(error: string): string | undefined {
  return FIXES.find(([kind]) => kind.test(error))?.[1];
}

const SHORTEST_WAIT_MS = 20;

/** It waited for a connection of a pool that had none free, and got none, which is reported as a wait. */
export function isPoolRefusal(database: Database, query: Query): boolean {
  const { error, waitMs, full } = query;
  if (error === null || waitMs < SHORTEST_WAIT_MS || sqlOf(database, query) !== '') return false;
  return full === true || /timeout|timed out/i.test(error);
}

/** Statements that the aborted transaction refused because this one had failed. */
export function refusedAfter({ queries }: Database, failed: Query): Query[] {
  return queries.filter(
    ({ connection, transaction, error, startMs }) =>
      transaction !== null &&
      transaction === failed.transaction &&
      connection === failed.connection &&
      startMs > failed.startMs &&
      error?.includes(ABORTED) === true,
  );
}

const givenTexts = new WeakMap<Query, string>();

/** The text with its values, but for moments, which differ each time. */
function given(query: Query): string {
  const known = givenTexts.get(query);
  if (known !== undefined) return known;
  const values = query.bindings.filter(({ type }) => type !== 'date').map(({ value }) => value);
  const text = JSON.stringify([query.statement, values]);
  givenTexts.set(query, text);
  return text;
}

interface Sent {
  work: readonly Query[];
  isCommitted: boolean;
}

interface Ran {
  /** By each of its statements. */
  transactions: ReadonlyMap<Query, Sent>;
  /** Without an error, by its text. */
  succeeded: ReadonlyMap<number, readonly Query[]>;
}

const ran = new WeakMap<readonly Query[], Ran>();

/** Read once, since hundreds of statements may have failed. */
function ranIn(database: Database): Ran {
  const known = ran.get(database.queries);
  if (known !== undefined) return known;
  const transactions = new Map<Query, Sent>();
  for (const { sent } of transactionsOf(database)) {
    const work = sent.filter((query) => kindOf(database, query) !== 'control');
    const isCommitted = sent.some((query) => query.error === null && commits(sqlOf(database, query)));
    for (const query of sent) transactions.set(query, { work, isCommitted });
  }
  const succeeded = groupBy(
    database.queries.filter(({ error }) => error === null),
    ({ statement }) => statement,
  );
  ran.set(database.queries, { transactions, succeeded });
  return { transactions, succeeded };
}

/** The failed statement ran again without an error, in a transaction that began with the same work if it was in one, and that was committed. */
export function isTriedAgain(database: Database, failed: Query): boolean {
  const { transactions, succeeded } = ranIn(database);
  const own = transactions.get(failed);
  const isWork = kindOf(database, failed) !== 'control';
  if (own === undefined && !isWork) return false;
  const values = given(failed);
  const [first] = own?.work ?? [];
  const start = first === undefined ? null : given(first);
  const isAgain = isWork && start !== null && TRY_AGAIN.test(failed.error ?? '');
  const some = isWork ? (succeeded.get(failed.statement) ?? []) : [...succeeded.values()].flat();
  return some.some((query) => {
    if (query.startMs < endOf(failed)) return false;
    if (own === undefined) return query.transaction === null && given(query) === values;
    const other = transactions.get(query);
    const [again] = other?.work ?? [];
    if (other?.work === own.work || other?.isCommitted !== true || start === null || again === undefined)
      return false;
    // It may be the commit that failed.
    if (!isWork) return start === given(again);
    return (isAgain && start === given(again)) || given(query) === values;
  });
}

interface Lock {
  row: RowTouched;
  query: number;
}

/** The rows that each transaction locked one by one, in order. */
function locksOf(database: Database): Map<string, Lock[]> {
  const locks = new Map<string, Lock[]>();
  database.queries.forEach((query, index) => {
    const system = database.statements[query.statement]?.system;
    const row =
      query.transaction === null ? null : rowTouched(sqlOf(database, query), query.bindings, system);
    if (row === null || row.does === 'insert' || (!row.isLocking && /read|count/.test(row.does))) return;
    addTo(locks, `${query.connection} ${query.transaction}`, { row, query: index });
  });
  return locks;
}

function lockText({ row, query }: Lock, database: Database): string {
  return `${excerpt(row.table, 40)} (query ${queryNumbers(database)[query]})`;
}

/** Two rows that another request locked the other way round; empty: the records don't show it. */
export function oppositeOrder(
  database: Database,
  failed: Query,
  overlapping: readonly OtherRequest[],
): string {
  const own = locksOf(database).get(`${failed.connection} ${failed.transaction}`) ?? [];
  const wanted = own.find(({ query }) => database.queries[query] === failed);
  if (wanted === undefined) return '';
  for (const { head, kept } of overlapping) {
    const others = kept.database === undefined ? new Map<string, Lock[]>() : locksOf(kept.database);
    for (const theirs of others.values()) {
      const at = theirs.findIndex(({ row }) => isSameRow(row, wanted.row));
      const held = own.find(
        ({ row, query }) =>
          query < wanted.query && theirs.findLastIndex((their) => isSameRow(their.row, row)) > at,
      );
      if (at === -1 || held === undefined) continue;
      return `: this request locked a row of ${lockText(held, database)} before one of ${lockText(wanted, database)}, and ${requestText(head)} locked the same rows the other way round`;
    }
  }
  return '';
}
