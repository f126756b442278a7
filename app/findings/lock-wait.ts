/** A statement that took long because another transaction probably held a lock on its rows: its own plan is not the cause. */
import type { FindingRule } from '../profiler/finding-rule.ts';
import type { Kept } from './shared/kept.ts';
import { labelOf, rowOf } from './shared/queries.ts';
import { duration, excerpt, shareOf } from './shared/wording.ts';

/** Reported above both. */
const LONG_MS = 20;
const LARGE_SHARE = 0.1;
const LONGEST_NAME = 80;

export const lockWait: FindingRule<Pick<Kept, 'database'>> = {
  name: 'lock-wait',
  needs: ['database'],
  labels: ['lock wait'],
  why: 'A transaction of this process on another connection had locked rows of the same table, maybe the same rows, and ended before the statement did. Inferred: the database was not asked.',
  fix: 'Keep the other transaction short: no calls, timers or rendering between its first write and its commit. Lock rows in the same order everywhere.',
  find({ database }, { durationMs: wholeMs, token }) {
    return database.queries.flatMap((query, index) => {
      const { lockedBy, durationMs: ms, caller } = query;
      if (lockedBy === undefined || ms === null || ms < LONG_MS) return [];
      if (wholeMs !== null && ms < wholeMs * LARGE_SHARE) return [];
      const { what, place, table, profile, waitedMs } = lockedBy;
      const who =
        profile === token
          ? 'another transaction of this request'
          : `a transaction of ${excerpt(what, LONGEST_NAME)}`;
      const where = place === null ? '' : ` (${place})`;
      const sentence = `${labelOf(database, query)} took ${shareOf(ms, wholeMs)} and may have waited ${duration(waitedMs)} of it for a lock on rows of ${table} that ${who} held${where}`;
      return [
        { severity: 'warn', sentence, anchor: rowOf(database, index), costMs: waitedMs, place: caller },
      ];
    });
  },
};
