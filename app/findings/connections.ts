/** Connections of a database: opened for one request, waited for; and waits for the locks of another transaction. */
import { isInLibrary } from '../profiler/read/rows.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import type { ProfileHead } from '../profiler/profile.ts';
import { holdersText } from './shared/holders.ts';
import {
  type Database,
  endOf,
  type Interval,
  type Needs,
  type OtherRequest,
  type Query,
  type Rule,
} from './shared/kept.ts';
import { labelOf, rowOf, sqlOf, transactionsOf } from './shared/queries.ts';
import { isPoolRefusal } from './shared/statement-failures.ts';
import { overlapMs, shareOfKind } from './shared/time.ts';
import {
  bracketed,
  brokeBy,
  count,
  duration,
  excerpt,
  listOf,
  LONGEST_NAME,
  shareOf,
} from './shared/wording.ts';

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

/** Pools close a connection that nobody has used for so long, and open another one for the next request. */
const POOL_IDLE_MS = 10_000;

/** Requests in a row of its process, with this one, in which the line ran on a new connection. */
function requestsInARow(line: string, head: ProfileHead, earlier: readonly OtherRequest[]): number {
  let requests = 1;
  let next = head;
  for (const { head: before, kept } of earlier) {
    const isFar = before.process !== head.process || next.startedAt - before.startedAt >= POOL_IDLE_MS;
    if (isFar) break;
    next = before;
    // Requests that did not run the line say nothing.
    const { database } = kept;
    const index = database === undefined ? undefined : firstOfLines(database).get(line);
    if (database === undefined || index === undefined) continue;
    if (!isOnNew(database, index)) break;
    requests++;
  }
  return requests;
}

const connectionPerRequest: Rule<Needs<'database'>> = {
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
type Wait = Interval & { durationMs: number };
type Holders = NonNullable<Query['heldBy']>;

/** Reported above both. */
const LONG_MS = 20;
const LARGE_SHARE = 0.1;
const MOST_NAMED = 3;

/** A wait that ended without a connection is recorded as a statement without SQL. */
function waitOf(database: Database, query: Query): Wait {
  const { startMs, waitMs } = query;
  return { startMs: sqlOf(database, query) === '' ? startMs : startMs - waitMs, durationMs: waitMs };
}

/** What part of this request held a connection during most of the wait; null if nothing did. */
function holderIn(database: Database, wait: Wait, self: Query): string | null {
  const { queries } = database;
  const most = wait.durationMs * 0.8;
  for (const { sent, first, last } of transactionsOf(database)) {
    if (sent.includes(self)) continue;
    const open = { startMs: first.startMs, durationMs: endOf(last) - first.startMs };
    if (overlapMs(open, wait) >= most) return 'a transaction of this request held one throughout';
  }
  const busy = new Map<string, number>();
  for (const query of queries) {
    if (query === self || query.connection === null) continue;
    const heldMs = overlapMs(query, wait);
    if (heldMs > 0) busy.set(query.connection, (busy.get(query.connection) ?? 0) + heldMs);
  }
  const held = [...busy.values()].filter((ms) => ms >= most).length;
  return held === 0 ? null : `statements of this request held ${count(held, 'connection')} during that time`;
}

/** What held the connections if this request did not; null if one was only opened. */
function otherHolder({ database, runtime }: PoolGiven, waited: Query, others: Holders): string | null {
  if (others.length > 0) return `held by ${holdersText(others)}`;
  if (waited.opened === true) return null;
  if (runtime?.concurrent !== 1) return 'other requests may have held all connections';
  const wait = waitOf(database, waited);
  return database.queries.some((query) => query !== waited && overlapMs(query, wait) > 0)
    ? 'other statements of this request ran at the same time'
    : 'no other request ran, so something outside requests held them, or a connection was not released';
}

/** Most connections were held by requests that had ended: they are never given back. */
function leakOf(heldBy: Holders): Pick<FindingDraft, 'sentence' | 'place' | 'fix'> | null {
  const sum = (of: Holders): number => of.reduce((total, { connections }) => total + connections, 0);
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

const poolWait: Rule<PoolGiven> = {
  name: 'pool-wait',
  needs: ['database'],
  labels: ['pool wait', 'connection leak'],
  why: 'Each statement records the time between asking the pool for a connection and getting one, including the time to open a new one. A leak: most connections were held by requests whose responses were over.',
  fix: 'Hold connections for less time: no calls or rendering inside a transaction, fewer statements at once, faster ones. Enlarge the pool last.',
  find(kept, { durationMs: wholeMs, status, token }, from) {
    const { database } = kept;
    const { queries } = database;
    const waiting = queries.filter(({ waitMs }) => waitMs >= 1);
    if (waiting.length === 0) return [];
    const { allMs: costMs } = shareOfKind(from.time, 'connection');
    const refused = queries.find((query) => isPoolRefusal(database, query));
    const isShort = costMs < LONG_MS || (wholeMs !== null && costMs < wholeMs * LARGE_SHARE);
    if (isShort && refused === undefined) return [];
    const [most] = waiting.toSorted((a, b) => b.waitMs - a.waitMs);
    const longest = refused ?? most;
    if (longest === undefined) return [];
    const isRefused = sqlOf(database, longest) === '';
    // The connection failed, which is a failed statement.
    if (isRefused && longest !== refused && longest.error !== null) return [];
    const why = refused === undefined ? '' : ` (${excerpt(refused.error ?? '')})`;
    const times = waiting.length === 1 ? '' : `, ${count(waiting.length, 'time')}`;
    const waited = isRefused
      ? `Waited ${duration(longest.waitMs)} for a pool connection and got none${why}`
      : `Waited ${shareOf(costMs, wholeMs)} for a pool connection${times}`;
    const how = isRefused
      ? ({ broke: brokeBy(status), severity: 'bad' } as const)
      : ({ severity: 'warn' } as const);
    const common = { ...how, anchor: rowOf(queries.indexOf(longest)), costMs };
    const others = longest.heldBy?.filter(({ profile }) => profile !== token) ?? [];
    const own = holderIn(database, waitOf(database, longest), longest);
    // One that came back in time was not leaked.
    const leak = isRefused && own === null ? leakOf(others) : null;
    if (leak !== null)
      return [{ ...common, label: 'connection leak', ...leak, sentence: `${waited}; ${leak.sentence}` }];
    // Without a full pool, connections were being opened, or the machine was busy.
    const holder = longest.full === true ? (own ?? otherHolder(kept, longest, others)) : null;
    // A connection was opened meanwhile, as each pool does when it grows.
    if (holder === null && !isRefused) return [];
    const who = holder === null ? '' : `; ${holder}`;
    return [{ ...common, sentence: `${waited}${who}`, place: longest.caller }];
  },
};

const lockWait: Rule<Needs<'database'>> = {
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

export const connectionRules: readonly Rule[] = [connectionPerRequest, poolWait, lockWait];
