/** A read that loads thousands of rows into memory, or a thousand without a limit. */
import type { FindingRule } from '../profiler/finding-rule.ts';
import type { Kept, Query } from './shared/kept.ts';
import { isLarge, kindOf, labelOf, rowOf, sqlOf } from './shared/queries.ts';
import { count, shareOf } from './shared/wording.ts';

/** From here on a read without a limit is reported: it grows with the table. */
const UNLIMITED_ROWS = 1000;
const LIMITS = /\blimit\b|\bfetch\s+(?:first|next)\b|\btop\b/i;

function isUnlimited(database: Kept['database'], query: Query): boolean {
  if ((query.rows ?? 0) < UNLIMITED_ROWS) return false;
  const sql = sqlOf(database, query);
  return kindOf(sql) === 'read' && !LIMITS.test(sql);
}

export const largeResult: FindingRule<Pick<Kept, 'database'>> = {
  name: 'large-result',
  needs: ['database'],
  labels: ['large result'],
  why: 'The driver reported that the statement returned 5,000 rows or more, or 1,000 without a limit.',
  fix: 'Read one page at a time (`limit` with a key), aggregate in the database, or stream the rows.',
  find({ database }, { durationMs: wholeMs }) {
    const { queries, totals } = database;
    if (totals.rows < UNLIMITED_ROWS) return [];
    return queries
      .map((query, index) => ({ query, index, rows: query.rows ?? 0 }))
      .filter(({ query }) => isLarge(database, query) || isUnlimited(database, query))
      .sort((a, b) => b.rows - a.rows)
      .map(({ query, index, rows }) => {
        const ms = query.durationMs ?? 0;
        const sentence = `${labelOf(database, query)} returned ${count(rows, 'row')} in ${shareOf(ms, wholeMs)}${isUnlimited(database, query) ? ', without a limit' : ''}`;
        const anchor = rowOf(database, index);
        const severity = isLarge(database, query) ? 'warn' : 'info';
        return { severity, sentence, anchor, costMs: ms, place: query.caller };
      });
  },
};
