/**
 * Which transaction may have held the lock that a slow statement waited for: one of this process that had locked rows of the same table,
 * not evidently others, before the statement was sent, and ended before it did. Inferred from what is recorded, so it may be wrong;
 * asking `pg_locks` while the statement waits would take a connection. Called only after a slow statement.
 */
import type { Context } from '../../profiler/record/context.ts';
import { groupBy } from '../../profiler/group-by.ts';
import { endsTransaction } from '../../profiler/transaction-sql.ts';
import type { LockHolder, QueryFact } from './query-fact.ts';
import { requestName } from '../request-name.ts';

/** Less is the usual time of a statement. */
const WAIT_FROM_MS = 20;
/** Share of the statement that it waited. */
const LARGE_SHARE = 0.3;
/** The end of the transaction may be noticed later than that of the statement which it lets run. */
const LATE_MS = 5;
/** Requests looked at: in a queue of hundreds the holder is among the oldest. */
const MOST_LOOKED_AT = 200;
const MOST_ENDED = 20;

const LOCKS =
  /^\s*(?:with\b[^]*?\)\s*)?(?:(?:update|delete\s+from)\s+(?:only\s+)?|(?:insert|merge)\s+into\s+)([\w."`]+)/i;
const SELECTS = /\bfrom\s+(?:only\s+)?([\w."`]+)[^]*\bfor\s+(?:no\s+key\s+)?(?:update|(?:key\s+)?share)\b/i;
const INSERTS = /^\s*insert\b/i;
/** It gave up waiting. */
const REFUSED = /deadlock|lock timeout|could not obtain lock/i;

function lockedTable(sql: string): string | null {
  const [, name] = LOCKS.exec(sql) ?? SELECTS.exec(sql) ?? [];
  return name?.replace(/^.*\./, '').replace(/["`]/g, '').toLowerCase() ?? null;
}

function valuesOf({ bindings }: QueryFact): Set<unknown> {
  return new Set(bindings.flat().filter((value) => typeof value === 'number' || typeof value === 'string'));
}

function isAboutOtherRows(a: QueryFact, b: QueryFact): boolean {
  const [of, other] = [valuesOf(a), valuesOf(b)];
  return of.size > 0 && other.size > 0 && ![...of].some((value) => other.has(value));
}

function spanOf(context: Context, members: readonly QueryFact[]): { from: number; to: number } {
  const last = members.at(-1);
  const from = context.startMark + (members[0]?.startMs ?? 0);
  if (last === undefined || !endsTransaction(last.sql)) return { from, to: Infinity };
  const sentMs = last.startMs;
  return { from, to: context.startMark + sentMs + (last.durationMs ?? 0) };
}

function transactionsOf(context: Context): QueryFact[][] {
  const inTransactions = context.all('query').filter(({ transaction }) => transaction !== null);
  const nameOf = ({ instance, connection, transaction }: QueryFact): string =>
    JSON.stringify([instance, connection, transaction]);
  return [...groupBy(inTransactions, nameOf).values()];
}

interface Waiting {
  fact: QueryFact;
  table: string;
  from: number;
  to: number;
}

function lockIn(context: Context, members: readonly QueryFact[], waiting: Waiting): LockHolder | null {
  const { fact, table, from, to } = waiting;
  const [first] = members;
  if (first?.instance !== fact.instance || first.connection === fact.connection) return null;
  const span = spanOf(context, members);
  const isRefused = REFUSED.test(fact.error ?? '');
  // If it still held the lock, the statement did not wait for that.
  if (!isRefused && span.to > to + LATE_MS) return null;
  const waitedMs = Math.min(span.to, to) - from;
  if (waitedMs < Math.max(WAIT_FROM_MS, (to - from) * LARGE_SHARE)) return null;
  const lock = members.find(
    (one) =>
      one.durationMs !== null &&
      context.startMark + one.startMs + one.durationMs < to &&
      lockedTable(one.sql) === table &&
      // Two that add rows wait for each other only if a unique key clashes, which is rare.
      !(INSERTS.test(one.sql) && INSERTS.test(fact.sql)) &&
      !isAboutOtherRows(one, fact),
  );
  if (lock === undefined) return null;
  return { profile: context.token, what: requestName(context), place: lock.caller, table, waitedMs };
}

/** null if nothing that is recorded explains it. In a queue, the one that ended last held the lock last. */
function lockHolder(contexts: Iterable<Context>, context: Context, fact: QueryFact): LockHolder | null {
  const table = lockedTable(fact.sql);
  if (table === null) return null;
  const from = context.startMark + fact.startMs;
  const waiting: Waiting = { fact, table, from, to: from + (fact.durationMs ?? 0) };
  const holders = [...contexts]
    .slice(0, MOST_LOOKED_AT)
    .flatMap((other) => transactionsOf(other).flatMap((members) => lockIn(other, members, waiting) ?? []));
  return holders.sort((a, b) => b.waitedMs - a.waitedMs)[0] ?? null;
}

export interface LockHolders {
  /** A request is over. */
  ended(context: Context): void;
  /** A statement is over. */
  note(context: Context, fact: QueryFact): void;
}

export function createLockHolders(running: () => Iterable<Context>): LockHolders {
  /** The end of a transaction may end its request, too, before the statement that it lets run is over. Weak: a context has all of a request. */
  let ended: readonly WeakRef<Context>[] = [];
  return {
    ended(context) {
      if (context.all('query').some(({ transaction }) => transaction !== null))
        ended = [new WeakRef(context), ...ended].slice(0, MOST_ENDED);
    },
    note(context, fact) {
      if (fact.durationMs === null || fact.durationMs < WAIT_FROM_MS) return;
      try {
        const contexts = new Set([...ended.flatMap((ref) => ref.deref() ?? []), ...running()]);
        const holder = lockHolder(contexts, context, fact);
        if (holder !== null) fact.lockedBy = holder;
      } catch {
        // Nobody is named.
      }
    },
  };
}
