/** Time in which a statement could not begin because no connection was free. */
import type { FindingRule } from '../profiler/finding.ts';
import { endOf, type Kept, type Query } from './shared/kept.ts';
import { rowOf, sqlOf, transactionsOf } from './shared/queries.ts';
import { counted, duration, placed, shareOf } from './shared/wording.ts';

type Database = Kept['database'];

/** Waiting that is worth a sentence: so long, and so much of the request. */
const LONG_MS = 20;
const LARGE_SHARE = 0.1;

/** A wait that came to nothing is recorded as a statement without a text. */
function waitOf(database: Database, query: Query): { from: number; to: number } {
  return sqlOf(database, query) === ''
    ? { from: query.startMs, to: query.startMs + query.waitMs }
    : { from: query.startMs - query.waitMs, to: query.startMs };
}

/** What of this request had a connection all through most of the longest wait; null where nothing had. */
function ownHolder(
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
      return 'a transaction of this request held one all the while';
  }
  const busy = new Map<string, number>();
  for (const query of queries) {
    if (query === self || query.connection === null) continue;
    const shared = Math.min(endOf(query), to) - Math.max(query.startMs, from);
    if (shared > 0) busy.set(query.connection, (busy.get(query.connection) ?? 0) + shared);
  }
  const held = [...busy.values()].filter((ms) => ms >= most).length;
  return held === 0 ? null : `statements of this request held ${counted(held, 'connection')} meanwhile`;
}

export const poolWait: FindingRule<Pick<Kept, 'database'>> = {
  name: 'pool-wait',
  needs: ['database'],
  labels: ['pool'],
  known:
    'Each statement tells how long it waited between asking the pool for a connection and having one; opening a new one is part of it.',
  mends:
    'Hold connections shorter: no call or rendering inside a transaction, fewer statements at once, faster ones; only then a larger pool.',
  find({ database }, { durationMs: wholeMs }) {
    const { totals, queries } = database;
    if (totals.waitMs < LONG_MS || (wholeMs !== null && totals.waitMs < wholeMs * LARGE_SHARE)) return [];
    const waiting = queries.filter(({ waitMs }) => waitMs >= 1);
    const longest = waiting.reduce<Query | undefined>(
      (worst, query) => (query.waitMs > (worst?.waitMs ?? 0) ? query : worst),
      undefined,
    );
    if (longest === undefined) return [];
    const index = queries.indexOf(longest);
    const refused = sqlOf(database, longest) === '';
    const holder = ownHolder(database, waitOf(database, longest), longest);
    const who = holder ?? 'other requests may have held all of them';
    const sentence = refused
      ? `No connection of the pool was to be had for ${duration(longest.waitMs)}; ${who}`
      : `Waited ${shareOf(totals.waitMs, wholeMs)} for a connection of the pool, ${counted(waiting.length, 'time')}; ${who}`;
    return [
      placed(
        {
          label: 'pool',
          severity: refused ? 'bad' : 'warn',
          sentence,
          panel: 'database',
          anchor: rowOf(database, index),
          costMs: totals.waitMs,
        },
        longest.caller,
      ),
    ];
  },
};
