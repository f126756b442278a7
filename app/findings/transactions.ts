/** Transactions, connections and locks of a database. */
import { pick } from '../panels/shared/rows.ts';
import { isInLibrary } from '../profiler/read/rows.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import type { ProfileHead } from '../profiler/profile.ts';
import { beginsTransaction, endsTransaction, rollsBack } from '../profiler/transaction-sql.ts';
import { callName } from './shared/calls.ts';
import { type Database, endOf, type Needs, type OtherRequest, type Query, type Rule } from './shared/kept.ts';
import { givenText } from './shared/conditions.ts';
import {
  draftAt,
  kindOf,
  labelOf,
  type Read,
  readsOf,
  rowOf,
  sqlOf,
  textOf,
  transactionsOf,
  workOf,
} from './shared/queries.ts';
import { holdersText } from './shared/holders.ts';
import { isPoolRefusal } from './shared/statement-failures.ts';
import { shareOfKind } from './shared/time.ts';
import {
  bracketed,
  brokeBy,
  count,
  duration,
  excerpt,
  listOf,
  LONGEST_NAME,
  placeText,
  requestText,
  shareOf,
} from './shared/wording.ts';

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

export const beginThroughPool: Rule<Needs<'database'>> = {
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

export const unendedTransaction: Rule<Needs<'database'>> = {
  name: 'unended-transaction',
  needs: ['database'],
  labels: ['open transaction'],
  why: 'A BEGIN of this request was recorded, but no COMMIT or ROLLBACK on its connection by the time the response finished.',
  fix: 'Use `knex.transaction(async (trx) => …)`, which always ends it, and await it before you respond. With `pg`, send BEGIN, the statements and COMMIT through one client of `pool.connect()`.',
  find({ database }, { state }) {
    const { queries } = database;
    if (state === 'running' || !queries.some(({ transaction }) => transaction !== null)) return [];
    return transactionsOf(database)
      .filter(({ members }) => {
        const texts = members.flatMap((index) => {
          const query = queries[index];
          return query === undefined ? [] : [sqlOf(database, query)];
        });
        const first = members[0] ?? 0;
        const begin = queries[first];
        // With a finding of its own.
        if (begin === undefined || endElsewhere(database, begin, untilEnd(database, first)) !== null)
          return false;
        return texts.some((sql) => beginsTransaction(sql)) && !texts.some((sql) => endsTransaction(sql));
      })
      .map(({ members }) => {
        const callers = members.flatMap((index) => queries[index]?.caller ?? []);
        // BEGIN is often sent by a library, far from who asked for it.
        const place = callers.find((caller) => !isInLibrary(caller)) ?? callers[0];
        const work = workOf(database, members);
        const sentence = `A transaction (${count(work, 'statement')}) was neither committed nor rolled back when the response finished`;
        return { broke: 'unseen', severity: 'bad', sentence, anchor: rowOf(members[0] ?? 0), place };
      });
  },
};

function isOutside(
  database: Database,
  query: Query,
  { first, last }: { first: Query; last: Query },
): boolean {
  return (
    query.transaction === null &&
    query.error === null &&
    query.instance === first.instance &&
    query.connection !== first.connection &&
    query.startMs - query.waitMs >= endOf(first) &&
    endOf(query) <= last.startMs &&
    kindOf(sqlOf(database, query)) === 'write'
  );
}

const outsideTransaction: Rule<Needs<'database'>> = {
  name: 'outside-transaction',
  needs: ['database'],
  labels: ['outside transaction'],
  why: 'A write began and ended on another connection while a transaction of this request was open, so it does not belong to the transaction.',
  fix: 'Send it through the transaction (`trx`, or `.transacting(trx)`) if it has to be undone with it; otherwise send it after the commit.',
  find({ database }) {
    const { queries } = database;
    if (!queries.some(({ transaction }) => transaction !== null)) return [];
    return transactionsOf(database).flatMap(({ members }) => {
      const [first, last] = [queries[members[0] ?? -1], queries[members.at(-1) ?? -1]];
      if (first === undefined || last === undefined) return [];
      const index = queries.findIndex((query) => isOutside(database, query, { first, last }));
      const query = queries[index];
      if (query === undefined) return [];
      const isUndone = rollsBack(sqlOf(database, last));
      const work = count(workOf(database, members), 'statement');
      const end = isUndone ? `: the rollback did not undo it` : '';
      const sentence = `${labelOf(database, query)} ran outside the transaction (${work}) that was open on another connection${end}`;
      const how = isUndone
        ? ({ broke: 'unseen', severity: 'warn' } as const)
        : ({ severity: 'info' } as const);
      return [{ ...how, sentence, anchor: rowOf(index), place: query.caller }];
    });
  },
};

function tablesOf(database: Database, query: Query): Set<string> {
  const sql = sqlOf(database, query)
    .replace(/'(?:[^']|'')*'/g, "''")
    .replace(/["`]/g, '');
  return new Set(
    Array.from(sql.matchAll(/\b(?:from|join)\s+(?:\w+\.)?(\w+)/gi), ([, table]) =>
      (table ?? '').toLowerCase(),
    ),
  );
}

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
    const { queries } = database;
    const reads = readsOf(database);
    return transactionsOf(database).flatMap(({ members }): FindingDraft[] => {
      const last = queries[members.at(-1) ?? -1];
      const writes = reads.filter(({ index, read, query }) => {
        return members.includes(index) && read.verb !== 'select' && read.table !== null && query.rows !== 0;
      });
      for (const one of last === undefined ? [] : reads) {
        const { query, read } = one;
        if (read.verb !== 'select' || query.transaction !== null || last === undefined) continue;
        const tables = tablesOf(database, query);
        const written = writes.find(
          (write) =>
            query.instance === write.query.instance &&
            query.connection !== write.query.connection &&
            query.startMs - query.waitMs >= endOf(write.query) &&
            endOf(query) <= last.startMs &&
            tables.has(write.read.table?.toLowerCase() ?? '') &&
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

/** Statements of transactions whose BEGIN this request did not send. */
function strangersIn(database: Database): number[] {
  if (database.unkept !== undefined) return [];
  return transactionsOf(database).flatMap(({ members }) => {
    const begins = pick(database.queries, members).some((one) => beginsTransaction(sqlOf(database, one)));
    return begins ? [] : members;
  });
}

function isWriteAt(database: Database, index: number): boolean {
  const query = database.queries[index];
  return query !== undefined && kindOf(sqlOf(database, query)) === 'write';
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
function sentAfterEnd(database: Database, end: Query): Read['index'][] {
  return database.queries.flatMap((query, index) =>
    query.connection === end.connection &&
    query.instance === end.instance &&
    query.transaction === null &&
    query.waitMs === 0 &&
    query.startMs > end.startMs &&
    query.startMs < endOf(end) &&
    kindOf(sqlOf(database, query)) !== 'control'
      ? [index]
      : [],
  );
}

const afterCommit: Rule<Needs<'database'>> = {
  name: 'after-commit',
  needs: ['database'],
  labels: ['after COMMIT'],
  why: 'The statements were sent on the transaction’s connection after its COMMIT or ROLLBACK, before the pool had the connection back. So the function of the transaction had started them and did not await them.',
  fix: 'Await everything that the function of the transaction starts: `for (const line of lines) await …`, or `await Promise.all(lines.map(…))`. `forEach` does not wait.',
  find({ database }) {
    const { queries } = database;
    return transactionsOf(database).flatMap(({ members }): FindingDraft[] => {
      const end = queries[members.at(-1) ?? -1];
      if (end === undefined || end.connection === null || end.durationMs === null) return [];
      const [, word = ''] =
        /^\s*(commit|rollback)\s*(?:work|transaction)?\s*;?\s*$/i.exec(sqlOf(database, end)) ?? [];
      const late = word === '' ? [] : sentAfterEnd(database, end);
      const isWriting = (index: number): boolean =>
        kindOf(sqlOf(database, queries[index] ?? end)) === 'write';
      const first = late.find(isWriting) ?? late[0];
      const query = first === undefined ? undefined : queries[first];
      if (first === undefined || query === undefined) return [];
      const labels = new Set(late.map((index) => labelOf(database, queries[index] ?? query)));
      const [was, part] = late.length === 1 ? ['was', 'it is'] : ['were', 'they are'];
      const outcome = /rollback/i.test(word)
        ? 'which undid nothing of this'
        : `so ${part} not part of the transaction`;
      const sentence = `${count(late.length, 'statement')} (${[...labels].slice(0, MOST_NAMED).join(', ')}) ${was} sent after the ${word.toUpperCase()} of the transaction on whose connection ${late.length === 1 ? 'it' : 'they'} ran, ${outcome}: the function that sent them was not awaited`;
      return [draftAt({ query, index: first }, sentence, isWriting(first) ? 'bad' : 'warn')];
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
    const { queries } = database;
    if (!queries.some(({ transaction }) => transaction !== null)) return [];
    const found: FindingDraft[] = [];
    for (const { members } of transactionsOf(database)) {
      const ran = pick(queries, members);
      const first = ran[0];
      const last = ran.at(-1);
      if (first === undefined || last === undefined || first === last) continue;
      calls.forEach((call, index) => {
        if (call.startMs < endOf(first) || endOf(call) > last.startMs) return;
        const costMs = call.durationMs ?? 0;
        const open = duration(endOf(last) - first.startMs);
        const sentence = `A transaction (${count(workOf(database, members), 'statement')}, ${open}) stayed open during the call to ${callName(call)} (${duration(costMs)})`;
        const place = call.caller ?? ran.map(({ caller }) => caller).find((caller) => caller !== null);
        found.push({
          severity: 'warn',
          sentence,
          panel: 'http_client',
          anchor: `c${index + 1}`,
          costMs,
          place,
        });
      });
    }
    return found;
  },
};

/** A pool opens its first connections one after the other, too. */
const REQUESTS = 3;

/** The first successful statement of each line of own code, by its index. */
function firstOfLines({ queries }: Database): Map<string, number> {
  const firstOf = new Map<string, number>();
  queries.forEach(({ caller, error }, index) => {
    if (caller === null || isInLibrary(caller)) return;
    if (error === null && !firstOf.has(caller)) firstOf.set(caller, index);
  });
  return firstOf;
}

/** A query builder may have sent the first statement of the connection by itself. */
function isOnNew({ queries }: Database, index: number): boolean {
  const connection = queries[index]?.connection ?? null;
  return (
    connection !== null && queries.some((query) => query.first === true && query.connection === connection)
  );
}

/** Whether the first statement of this line ran on a new connection; null if the line ran none. */
function openedBy(line: string, database: Database | undefined): boolean | null {
  const index = database === undefined ? undefined : firstOfLines(database).get(line);
  return database === undefined || index === undefined ? null : isOnNew(database, index);
}

/** Pools close a connection that nobody has used for so long, and open another one for the next request. */
const POOL_IDLE_MS = 10_000;

/** Requests in a row of its process, with this one, in which the line ran on a new connection. */
function requestsInARow(line: string, head: ProfileHead, earlier: readonly OtherRequest[]): number {
  let requests = 1;
  let next = head;
  for (const { head: before, kept } of earlier) {
    const opened = openedBy(line, kept.database);
    const isFar = before.process !== head.process || next.startedAt - before.startedAt >= POOL_IDLE_MS;
    if (opened === false || isFar) break;
    if (opened) requests++;
    next = before;
  }
  return requests;
}

export const connectionPerRequest: Rule<Needs<'database'>> = {
  name: 'connection-per-request',
  needs: ['database'],
  labels: ['connection per request'],
  why: 'In at least three requests in a row of this route, less than 10 s apart, the first statement of this line ran on a connection that no earlier request had used and that no known pool gave out.',
  fix: 'Create the pool or client once, when the module is loaded, and use it in all requests. If it is a Knex instance, `profiler.watchKnex(knex)` shows its pool.',
  compares: ({ database: { queries } }) => queries.some(({ first }) => first === true),
  find({ database }, head, { earlier }) {
    return [...firstOfLines(database)].flatMap(([line, index]) => {
      const query = database.queries[index];
      if (query === undefined || !isOnNew(database, index)) return [];
      const requests = requestsInARow(line, head, earlier);
      if (requests < REQUESTS) return [];
      const sentence = `${labelOf(database, query)} ran on a connection opened for it, as in the last ${count(requests, 'request')} from this line`;
      return [{ severity: 'warn', sentence, anchor: rowOf(index), place: line }];
    });
  },
};

type PoolGiven = Needs<'database', 'runtime'>;

/** Reported above both. */
const LONG_MS = 20;
const LARGE_SHARE = 0.1;
const MOST_NAMED = 3;

/** A wait that ended without a connection is recorded as a statement without SQL. */
function waitOf(database: Database, query: Query): { from: number; to: number } {
  return sqlOf(database, query) === ''
    ? { from: query.startMs, to: query.startMs + query.waitMs }
    : { from: query.startMs - query.waitMs, to: query.startMs };
}

/** What part of this request held a connection during most of the wait; null if nothing did. */
function holderIn(
  database: Database,
  { from, to }: { from: number; to: number },
  self: Query,
): string | null {
  const { queries } = database;
  const most = (to - from) * 0.8;
  for (const { members } of transactionsOf(database)) {
    const [first, last] = [queries[members[0] ?? 0], queries[members.at(-1) ?? 0]];
    if (first === undefined || last === undefined || members.includes(queries.indexOf(self))) continue;
    if (Math.min(endOf(last), to) - Math.max(first.startMs, from) >= most)
      return 'a transaction of this request held one throughout';
  }
  const busy = new Map<string, number>();
  for (const query of queries) {
    if (query === self || query.connection === null) continue;
    const overlapMs = Math.min(endOf(query), to) - Math.max(query.startMs, from);
    if (overlapMs > 0) busy.set(query.connection, (busy.get(query.connection) ?? 0) + overlapMs);
  }
  const held = [...busy.values()].filter((ms) => ms >= most).length;
  return held === 0 ? null : `statements of this request held ${count(held, 'connection')} during that time`;
}

function ranDuring({ from, to }: { from: number; to: number }, query: Query): boolean {
  return query.startMs < to && endOf(query) > from;
}

/** What held the connections, null if one was only opened; nothing is said of others if there were none. */
function whoIn({ database, runtime }: PoolGiven, wait: Query, token: string): string | null {
  // Without a full pool, connections were being opened, or the machine was busy.
  if (wait.full !== true) return null;
  const span = waitOf(database, wait);
  const holder = holderIn(database, span, wait);
  if (holder !== null) return holder;
  const others = wait.heldBy?.filter(({ profile }) => profile !== token) ?? [];
  if (others.length > 0) return `held by ${holdersText(others)}`;
  if (wait.opened === true) return null;
  if (runtime?.concurrent !== 1) return 'other requests may have held all connections';
  return database.queries.some((query) => query !== wait && ranDuring(span, query))
    ? 'other statements of this request ran at the same time'
    : 'no other request ran, so something outside requests held them, or a connection was not released';
}

/** Most connections were held by requests that had ended: they are never given back. */
function leakOf(
  heldBy: NonNullable<Query['heldBy']>,
): Pick<FindingDraft, 'sentence' | 'place' | 'fix'> | null {
  const sum = (of: typeof heldBy): number => of.reduce((total, { connections }) => total + connections, 0);
  const leaked = heldBy.filter(({ ended }) => ended === true);
  const [most] = leaked.toSorted((a, b) => b.connections - a.connections);
  const n = sum(leaked);
  if (most === undefined || n * 2 < sum(heldBy)) return null;
  const names = listOf(leaked.map(({ what }) => what));
  const tokens = leaked.map(({ profile }) => profile).slice(0, MOST_NAMED);
  const more = leaked.length > MOST_NAMED ? ', …' : '';
  const was = n === 1 ? 'was' : 'were';
  return {
    sentence: `${count(n, 'connection')} ${was} taken by ${names} (${tokens.join(', ')}${more}) and not released after the response`,
    place: most.place,
    fix: 'Release the connection on each way out of the function, also an early return and an error: `const client = await pool.connect(); try { … } finally { client.release(); }`. For a single statement, use `pool.query`. A larger pool only leaks for longer.',
  };
}

export const poolWait: Rule<PoolGiven> = {
  name: 'pool-wait',
  needs: ['database'],
  labels: ['pool wait', 'connection leak'],
  why: 'Each statement records the time between asking the pool for a connection and getting one, including the time to open a new one. A leak: most connections were held by requests whose responses were over.',
  fix: 'Hold connections for less time: no calls or rendering inside a transaction, fewer statements at once, faster ones. Enlarge the pool last.',
  find(kept, { durationMs: wholeMs, status, token }, from) {
    const { database } = kept;
    const { queries } = database;
    if (!queries.some(({ waitMs }) => waitMs >= 1)) return [];
    const { allMs: costMs } = shareOfKind(from.time, 'connection');
    const refused = queries.find((query) => isPoolRefusal(database, query));
    const isShort = costMs < LONG_MS || (wholeMs !== null && costMs < wholeMs * LARGE_SHARE);
    if (isShort && refused === undefined) return [];
    const waiting = queries.filter(({ waitMs }) => waitMs >= 1);
    const longest =
      refused ??
      waiting.reduce<Query | undefined>(
        (worst, query) => (query.waitMs > (worst?.waitMs ?? 0) ? query : worst),
        undefined,
      );
    if (longest === undefined) return [];
    const isRefused = sqlOf(database, longest) === '';
    // The connection failed, which is a failed statement.
    if (isRefused && longest !== refused && longest.error !== null) return [];
    const why = refused === undefined ? '' : ` (${excerpt(refused.error ?? '')})`;
    const got = isRefused
      ? `Waited ${duration(longest.waitMs)} for a pool connection and got none${why}`
      : null;
    const times = waiting.length === 1 ? '' : `, ${count(waiting.length, 'time')}`;
    const waited = got ?? `Waited ${shareOf(costMs, wholeMs)} for a pool connection${times}`;
    const common = {
      ...(isRefused
        ? ({ broke: brokeBy(status), severity: 'bad' } as const)
        : ({ severity: 'warn' } as const)),
      anchor: rowOf(queries.indexOf(longest)),
      costMs,
    };
    const others = longest.heldBy?.filter(({ profile }) => profile !== token) ?? [];
    const isOwn = holderIn(database, waitOf(database, longest), longest) !== null;
    // One that came back in time was not leaked.
    const leak = isRefused && !isOwn ? leakOf(others) : null;
    if (leak !== null)
      return [{ ...common, label: 'connection leak', ...leak, sentence: `${waited}; ${leak.sentence}` }];
    const holder = whoIn(kept, longest, token);
    // A connection was opened meanwhile, as each pool does when it grows.
    if (holder === null && !isRefused) return [];
    const who = holder === null ? '' : `; ${holder}`;
    return [{ ...common, sentence: `${waited}${who}`, place: longest.caller }];
  },
};

export const lockWait: Rule<Needs<'database'>> = {
  name: 'lock-wait',
  needs: ['database'],
  labels: ['lock wait'],
  why: 'A transaction of this process on another connection had locked rows of the same table, maybe the same rows, and ended before the statement did. Inferred: the database was not asked.',
  fix: 'Keep the other transaction short: no calls, timers or rendering between its first write and its commit. Lock rows in the same order everywhere.',
  find({ database }, { durationMs: wholeMs, token }) {
    return database.queries.flatMap((query, index) => {
      const { lockedBy, durationMs: ms, caller, error } = query;
      // The failed statement says it.
      if (lockedBy === undefined || ms === null || ms < LONG_MS || error !== null) return [];
      if (wholeMs !== null && ms < wholeMs * LARGE_SHARE) return [];
      const { what, place, table, profile, waitedMs } = lockedBy;
      const who =
        profile === token
          ? 'another transaction of this request'
          : `a transaction of ${excerpt(what, LONGEST_NAME)}`;
      const where = place === caller ? '' : bracketed(place);
      const sentence = `${labelOf(database, query)} took ${shareOf(ms, wholeMs)} and may have waited ${duration(waitedMs)} of it for a lock on rows of ${table} that ${who} held${where}`;
      return [{ severity: 'warn', sentence, anchor: rowOf(index), costMs: waitedMs, place: caller }];
    });
  },
};

export const transactionRules: readonly Rule[] = [
  beginThroughPool,
  unendedTransaction,
  outsideTransaction,
  readOutside,
  othersTransaction,
  afterCommit,
  transactionAcrossCall,
  connectionPerRequest,
  poolWait,
  lockWait,
];
