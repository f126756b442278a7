/** Transactions of a database: how they begin and end, and what runs inside and beside them. */
import { isInLibrary } from '../profiler/read/rows.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import type { ProfileHead } from '../profiler/profile.ts';
import { beginsTransaction, commits, endsTransaction, rollsBack } from '../profiler/transaction-sql.ts';
import { callName } from './shared/calls.ts';
import { type Database, endOf, type Needs, type OtherRequest, type Query, type Rule } from './shared/kept.ts';
import { givenText } from './shared/conditions.ts';
import {
  draftAt,
  isBeside,
  kindOf,
  labelOf,
  plainSql,
  type Read,
  readsOf,
  rowOf,
  sqlOf,
  tablesOf,
  textOf,
  transactionsOf,
  workOf,
  writesBeside,
} from './shared/queries.ts';
import { bracketed, count, duration, excerpt, placeText, requestText } from './shared/wording.ts';

function untilEnd({ queries, ...database }: Database, from: number): Query[] {
  const begin = queries[from];
  const after = queries.slice(from + 1).filter(({ instance }) => instance === begin?.instance);
  const end = after.findIndex((query) => endsTransaction(sqlOf({ ...database, queries }, query)));
  return end === -1 ? after : after.slice(0, end + 1);
}

/** The COMMIT or ROLLBACK that was sent for a BEGIN, if it ran on another connection. */
function endElsewhere(database: Database, begin: Query, sent: readonly Query[]): Query | null {
  const end = sent.at(-1);
  if (end === undefined || end.connection === begin.connection || end.transaction !== null) return null;
  return endsTransaction(sqlOf(database, end)) ? end : null;
}

const beginThroughPool: Rule<Needs<'database'>> = {
  name: 'begin-through-pool',
  needs: ['database'],
  labels: ['BEGIN through a pool'],
  why: 'BEGIN was sent by a method of the pool, such as `pool.query`, or its COMMIT ran on another connection. A pool gives each statement any free connection, so only luck puts all of them into the transaction.',
  fix: 'Take a client (`await pool.connect()`, `getConnection()`), send BEGIN, the statements and COMMIT through it, and release it in `finally`.',
  find({ database }) {
    return database.queries.flatMap((begin, index): FindingDraft[] => {
      if (!beginsTransaction(sqlOf(database, begin))) return [];
      const sent = untilEnd(database, index);
      const end = endElsewhere(database, begin, sent);
      if (begin.pooled !== true && end === null) return [];
      const outside = sent.filter(({ connection }) => connection !== begin.connection);
      const word = end === null ? '' : (/\w+/.exec(sqlOf(database, end))?.[0].toUpperCase() ?? '');
      const how =
        outside.length === 0
          ? 'this time all statements got the same connection'
          : `${count(outside.length)} of the ${count(sent.length, 'statement')} after it ran on another connection${end === null ? '' : `, ${word} too, so the transaction stayed open`}`;
      const sentence = `BEGIN was sent through the pool, which may give each statement another connection: ${how}`;
      return [{ broke: 'unseen', severity: 'bad', sentence, anchor: rowOf(index), place: begin.caller }];
    });
  },
};

const unendedTransaction: Rule<Needs<'database'>> = {
  name: 'unended-transaction',
  needs: ['database'],
  labels: ['open transaction'],
  why: 'A BEGIN of this request was recorded, but no COMMIT or ROLLBACK on its connection by the time the response finished.',
  fix: 'Use `knex.transaction(async (trx) => …)`, which always ends it, and await it before you respond. With `pg`, send BEGIN, the statements and COMMIT through one client of `pool.connect()`.',
  find({ database }, { state }) {
    if (state === 'running') return [];
    return transactionsOf(database).flatMap(({ members: [index = 0], sent, first }): FindingDraft[] => {
      const texts = sent.map((query) => sqlOf(database, query));
      if (!texts.some(beginsTransaction) || texts.some(endsTransaction)) return [];
      // With a finding of its own.
      if (endElsewhere(database, first, untilEnd(database, index)) !== null) return [];
      const callers = sent.flatMap(({ caller }) => caller ?? []);
      // BEGIN is often sent by a library, far from who asked for it.
      const place = callers.find((caller) => !isInLibrary(caller)) ?? callers[0];
      const sentence = `A transaction (${count(workOf(database, sent), 'statement')}) was neither committed nor rolled back when the response finished`;
      return [{ broke: 'unseen', severity: 'bad', sentence, anchor: rowOf(index), place }];
    });
  },
};

/** Words of tables that say what was tried: their rows are to stay. */
const OF_ATTEMPTS =
  /^(?:(?:audit|event|change|error)?logs?|audits?|events?|attempts?|histor(?:y|ies)|failures?|errors?)$/i;

/** Word by word: `login_attempts` and `AuditLog`, but not `catalog` or `blog_posts`. */
function isKeptOnPurpose(label: string): boolean {
  return label.split(/[^A-Za-z]+|(?<=[a-z])(?=[A-Z])/).some((word) => OF_ATTEMPTS.test(word));
}

const outsideTransaction: Rule<Needs<'database'>> = {
  name: 'outside-transaction',
  needs: ['database'],
  labels: ['outside transaction'],
  why: 'A write began and ended on another connection while a transaction of this request was open, so it does not belong to the transaction.',
  fix: 'Pass the transaction (`trx`, `tx`, `manager`, `client`) to the function that writes, if the write has to be undone with it; otherwise write after the commit.',
  find({ database }) {
    const { queries } = database;
    return transactionsOf(database).flatMap(({ sent, first, last }) => {
      const outside = writesBeside(database, { first, last });
      const [query] = outside;
      if (query === undefined) return [];
      const index = queries.indexOf(query);
      const isUndone = rollsBack(sqlOf(database, last));
      const work = count(workOf(database, sent), 'statement');
      const rows = outside
        .filter((one) => !isKeptOnPurpose(labelOf(database, one)))
        .reduce((sum, one) => sum + (one.rows ?? 0), 0);
      const stay =
        rows === 0 ? '' : `, and ${count(rows, 'changed row')} ${rows === 1 ? 'stays' : 'stay'} as written`;
      const end = isUndone ? `: the rollback did not undo it${stay}` : '';
      const sentence = `${labelOf(database, query)} ran outside the transaction, which had ${work} and was open on another connection${end}`;
      const how = isUndone
        ? ({ broke: 'unseen', severity: rows === 0 ? 'warn' : 'bad' } as const)
        : ({ severity: 'info' } as const);
      return [{ ...how, sentence, anchor: rowOf(index), place: query.caller }];
    });
  },
};

/** A condition of a read has a value that the write has for the same column; of an INSERT … SELECT, the columns are not known. */
function asksForWritten({ read, query }: Read, written: Query): boolean {
  const where = read.where ?? [];
  return where.some(({ column, operator, values: [value] }) => {
    const given = operator === '=' ? givenText(value, query) : null;
    const isIt = ({ name, value: bound }: Query['bindings'][number]): boolean =>
      (name === column || name.startsWith('$')) && textOf(bound) === given;
    return given !== null && written.bindings.some(isIt);
  });
}

const readOutside: Rule<Needs<'database'>> = {
  name: 'read-outside-transaction',
  needs: ['database'],
  labels: ['read outside'],
  why: 'A transaction of this request had written a table and was still open. A read of that table ran on another connection, and its condition has a value of that write, or it has no condition. Other connections see only committed rows.',
  fix: 'Send the read through the transaction: pass its client (`trx`, `client`) to the function that reads. Or read after the commit.',
  find({ database }) {
    const reads = readsOf(database);
    return transactionsOf(database).flatMap(({ members, last }): FindingDraft[] => {
      const inside = new Set(members);
      const writes = reads.filter(({ index, read, query }) => {
        return inside.has(index) && read.verb !== 'select' && read.table !== null && query.rows !== 0;
      });
      for (const one of reads) {
        const { query, read } = one;
        if (read.verb !== 'select' || query.transaction !== null) continue;
        const written = writes.find(
          (write) =>
            isBeside(query, write.query, last) &&
            tablesOf(database, query).has(write.read.table?.toLowerCase() ?? '') &&
            (read.where === null || asksForWritten(one, write.query)),
        );
        if (written === undefined) continue;
        const sentence = `${labelOf(database, query)} ran on another connection while the transaction that had written ${excerpt(written.read.table ?? '', 40)}${bracketed(written.query.caller)} was open: it does not see what is not committed yet`;
        return [draftAt(one, sentence, written.read.verb === 'update' ? 'warn' : 'bad')];
      }
      return [];
    });
  },
};

const LOCKS = /\bfor (?:no key )?update\b|\bfor (?:key )?share\b|\block in share mode\b/i;

/** A read that locks rows in no transaction, while one of the request is open on another connection. */
function locksInVain(
  database: Database,
  { query, read }: Read,
  { first, last }: { first: Query; last: Query },
): boolean {
  return (
    read.verb === 'select' &&
    read.isLocking &&
    LOCKS.test(plainSql(database, query)) &&
    query.rows !== 0 &&
    isBeside(query, first, last) &&
    beginsTransaction(sqlOf(database, first))
  );
}

const lockOutside: Rule<Needs<'database'>> = {
  name: 'lock-outside-transaction',
  needs: ['database'],
  labels: ['lock outside'],
  why: 'A read with FOR UPDATE or FOR SHARE ran on a connection without a transaction, while this request had one open on another connection. Outside of a transaction, a lock ends with its statement.',
  fix: 'Send the read through the transaction: pass its client (`trx`, `client`, `manager`) to the function that locks the rows.',
  find({ database }) {
    const reads = readsOf(database);
    return transactionsOf(database).flatMap((transaction): FindingDraft[] => {
      const { members, sent } = transaction;
      const one = reads.find((read) => locksInVain(database, read, transaction));
      if (one === undefined) return [];
      const written = reads.find(
        ({ index, read }) =>
          members.includes(index) && read.verb !== 'select' && read.table === one.read.table,
      );
      const which =
        written === undefined
          ? `a transaction (${count(workOf(database, sent), 'statement')})`
          : `the transaction with ${labelOf(database, written.query)}${bracketed(written.query.caller)}`;
      const sentence = `${labelOf(database, one.query)} locked ${count(one.query.rows ?? 1, 'row')} in no transaction, while ${which} was open on another connection: the lock ended with the statement and protects nothing`;
      return [draftAt(one, sentence, written === undefined ? 'warn' : 'bad')];
    });
  },
};

/** Statements of transactions whose BEGIN this request did not send. */
function strangersIn(database: Database): number[] {
  if (database.unkept !== undefined) return [];
  return transactionsOf(database).flatMap(({ members, sent }) =>
    sent.some((one) => beginsTransaction(sqlOf(database, one))) ? [] : members,
  );
}

function isWriteAt(database: Database, index: number): boolean {
  const query = database.queries[index];
  return query !== undefined && kindOf(database, query) === 'write';
}

/** A request that ran beside this one, and began the transaction of a statement that this one sent. */
function beganBy(
  { transaction, instance }: Query,
  { overlapping, process }: { overlapping: readonly OtherRequest[]; process: ProfileHead['process'] },
): { head: ProfileHead; database: Database; begin: Query; end: Query | undefined } | undefined {
  for (const { head, kept } of overlapping) {
    const { database } = kept;
    if (database === undefined || head.process !== process) continue;
    const members = database.queries.filter(
      (one) => one.transaction === transaction && one.instance === instance,
    );
    const begin = members.find((one) => beginsTransaction(sqlOf(database, one)));
    const end = members.find((one) => endsTransaction(sqlOf(database, one)));
    if (begin !== undefined) return { head, database, begin, end };
  }
  return undefined;
}

const othersTransaction: Rule<Needs<'database'>> = {
  name: 'others-transaction',
  needs: ['database'],
  labels: ['another’s transaction'],
  why: 'Another request had begun a transaction and waited for something. All requests share that connection, so the statements of this request became a part of it: its COMMIT or ROLLBACK decides over them.',
  fix: 'Await nothing but statements between BEGIN and COMMIT on a shared connection: call others before it, or after it. With SQLite use the synchronous `db.transaction(…)`, or open a connection for the transaction.',
  overlaps: ({ database }) => strangersIn(database).length > 0,
  find({ database }, { process }, { overlapping }) {
    const strangers = strangersIn(database);
    const index = strangers.find((at) => isWriteAt(database, at)) ?? strangers[0];
    const query = database.queries[index ?? -1];
    const other = query === undefined ? undefined : beganBy(query, { overlapping, process });
    if (index === undefined || query === undefined || other === undefined) return [];
    const { head, begin, end } = other;
    const isUndone = end !== undefined && rollsBack(sqlOf(other.database, end));
    const outcome = isUndone && isWriteAt(database, index) ? ', and was rolled back with it' : '';
    const sentence = `${labelOf(database, query)} ran in the transaction that ${requestText(head)} had begun on the same connection${placeText(begin.caller)}${outcome}`;
    return [draftAt({ query, index }, sentence, isUndone ? 'bad' : 'warn')];
  },
};

/** Sent on the connection before its transaction's end had succeeded: no pool had it yet, so only the transaction's own client sent them. */
function sentAfterEnd(database: Database, end: Query): { query: Query; index: number }[] {
  return database.queries
    .map((query, index) => ({ query, index }))
    .filter(
      ({ query }) =>
        query.connection === end.connection &&
        query.instance === end.instance &&
        query.transaction === null &&
        query.waitMs === 0 &&
        query.startMs > end.startMs &&
        query.startMs < endOf(end) &&
        kindOf(database, query) !== 'control',
    );
}

const MOST_NAMED = 3;

const afterCommit: Rule<Needs<'database'>> = {
  name: 'after-commit',
  needs: ['database'],
  labels: ['after COMMIT'],
  why: 'The statements were sent on the transaction’s connection after its COMMIT or ROLLBACK, before the pool had the connection back. So the function of the transaction had started them and did not await them.',
  fix: 'Await everything that the function of the transaction starts: `for (const line of lines) await …`, or `await Promise.all(lines.map(…))`. `forEach` does not wait.',
  find({ database }) {
    return transactionsOf(database).flatMap(({ last: end }): FindingDraft[] => {
      if (end.connection === null || end.durationMs === null) return [];
      const isUndone = rollsBack(sqlOf(database, end));
      const late = isUndone || commits(sqlOf(database, end)) ? sentAfterEnd(database, end) : [];
      const written = late.find(({ query }) => kindOf(database, query) === 'write');
      const first = written ?? late[0];
      if (first === undefined) return [];
      const labels = new Set(late.map(({ query }) => labelOf(database, query)));
      const [was, part] = late.length === 1 ? ['was', 'it is'] : ['were', 'they are'];
      const outcome = isUndone ? 'which undid nothing of this' : `so ${part} not part of the transaction`;
      const sentence = `${count(late.length, 'statement')} (${[...labels].slice(0, MOST_NAMED).join(', ')}) ${was} sent after the ${isUndone ? 'ROLLBACK' : 'COMMIT'} of the transaction on whose connection ${late.length === 1 ? 'it' : 'they'} ran, ${outcome}: the function that sent them was not awaited`;
      return [draftAt(first, sentence, written === undefined ? 'warn' : 'bad')];
    });
  },
};

const transactionAcrossCall: Rule<Needs<'database' | 'http_client'>> = {
  name: 'transaction-across-call',
  needs: ['database', 'http_client'],
  labels: ['call in transaction'],
  why: 'An outgoing call started and ended between two statements of one transaction, so the transaction was open the whole time.',
  fix: 'Make the call before the transaction begins or after it ends, and store its result in a short transaction of its own.',
  find({ database, http_client: { calls } }) {
    return transactionsOf(database).flatMap(({ sent, first, last }) =>
      calls.flatMap((call, index): FindingDraft[] => {
        if (call.startMs < endOf(first) || endOf(call) > last.startMs) return [];
        const costMs = call.durationMs ?? 0;
        const open = duration(endOf(last) - first.startMs);
        const sentence = `A transaction (${count(workOf(database, sent), 'statement')}, ${open}) stayed open during the call to ${callName(call)} (${duration(costMs)})`;
        const place = call.caller ?? sent.find(({ caller }) => caller !== null)?.caller;
        return [{ severity: 'warn', sentence, panel: 'http_client', anchor: `c${index + 1}`, costMs, place }];
      }),
    );
  },
};

export const transactionRules: readonly Rule[] = [
  beginThroughPool,
  unendedTransaction,
  outsideTransaction,
  readOutside,
  lockOutside,
  othersTransaction,
  afterCommit,
  transactionAcrossCall,
];
