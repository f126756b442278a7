/** Time that statements waited because no pool connection was free. */
import type { FindingRule } from '../profiler/finding-rule.ts';
import { endOf, type Kept, type Query } from './shared/kept.ts';
import { shareOfKind } from './shared/long.ts';
import { rowOf, sqlOf, transactionsOf } from './shared/queries.ts';
import { brokeBy, count, duration, excerpt, shareOf } from './shared/wording.ts';

type Database = Kept['database'];
type Given = Pick<Kept, 'database'> & Partial<Pick<Kept, 'runtime'>>;

/** Reported above both. */
const LONG_MS = 20;
const LARGE_SHARE = 0.1;
/** To open a connection takes some time whenever a pool grows; only a slow one is worth a finding. */
const SLOW_OPENING_MS = 100;
const MOST_NAMED = 3;
const LONGEST_NAME = 80;

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

type Holder = NonNullable<Query['heldBy']>[number];

/** `GET /reports/audit (3 connections, reports.ts:31) and GET /orders (1 connection)`. Requests with the same name count as one; those whose response is over are told apart. */
function holdersText(holders: readonly Holder[]): string {
  const byName = new Map<string, Omit<Holder, 'profile'>>();
  for (const { what, place, connections, ended } of holders) {
    const name = ended === true ? `${what} (ended)` : what;
    const known = byName.get(name);
    byName.set(name, {
      what,
      place: known?.place ?? place,
      ...(ended === true ? { ended } : {}),
      connections: (known?.connections ?? 0) + connections,
    });
  }
  const most = [...byName.values()].sort((a, b) => b.connections - a.connections).slice(0, MOST_NAMED);
  return most
    .map(({ what, place, connections, ended }) => {
      const where = place === null ? '' : `, ${place}`;
      const leaked = ended === true ? ', not released after its response' : '';
      return `${excerpt(what, LONGEST_NAME)} (${count(connections, 'connection')}${where}${leaked})`;
    })
    .join(' and ');
}

function ranDuring({ from, to }: { from: number; to: number }, query: Query): boolean {
  return query.startMs < to && endOf(query) > from;
}

/** What held the connections, null if one was only opened; nothing is said of others if there were none. */
function whoIn({ database, runtime }: Given, wait: Query, token: string): string | null {
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

export const poolWait: FindingRule<Given> = {
  name: 'pool-wait',
  needs: ['database'],
  labels: ['pool wait'],
  why: 'Each statement records the time between asking the pool for a connection and getting one, including the time to open a new one.',
  fix: 'Hold connections for less time: no calls or rendering inside a transaction, fewer statements at once, faster ones. Enlarge the pool last.',
  find(kept, { durationMs: wholeMs, status, token }, from) {
    const { database } = kept;
    const { queries } = database;
    if (!queries.some(({ waitMs }) => waitMs >= 1)) return [];
    const { allMs: costMs } = shareOfKind(from.time, 'connection');
    if (costMs < LONG_MS || (wholeMs !== null && costMs < wholeMs * LARGE_SHARE)) return [];
    const waiting = queries.filter(({ waitMs }) => waitMs >= 1);
    const longest = waiting.reduce<Query | undefined>(
      (worst, query) => (query.waitMs > (worst?.waitMs ?? 0) ? query : worst),
      undefined,
    );
    if (longest === undefined) return [];
    const isRefused = sqlOf(database, longest) === '';
    const holder = whoIn(kept, longest, token);
    if (holder === null && longest.waitMs < SLOW_OPENING_MS) return [];
    const who = holder ?? 'a new connection was opened meanwhile';
    const sentence = isRefused
      ? `Waited ${duration(longest.waitMs)} for a pool connection and got none; ${who}`
      : `Waited ${shareOf(costMs, wholeMs)} for a pool connection${waiting.length === 1 ? '' : `, ${count(waiting.length, 'time')}`}; ${who}`;
    return [
      {
        ...(isRefused ? { broke: brokeBy(status), severity: 'bad' } : { severity: 'warn' }),
        sentence,
        anchor: rowOf(database, queries.indexOf(longest)),
        costMs,
        place: longest.caller,
      },
    ];
  },
};
