/** A read that loads thousands of rows into memory. */
import type { FindingRule } from '../profiler/finding-rule.ts';
import type { Kept } from './shared/kept.ts';
import { isLarge, labelOf, MANY_ROWS, rowOf } from './shared/queries.ts';
import { count, placed, shareOf } from './shared/wording.ts';

export const largeResult: FindingRule<Pick<Kept, 'database'>> = {
  name: 'large-result',
  needs: ['database'],
  labels: ['large result'],
  why: 'The driver reported that the statement returned 5,000 rows or more.',
  fix: 'Read one page at a time (`limit` with a key), aggregate in the database, or stream the rows.',
  find({ database }, { durationMs: wholeMs }) {
    const { queries, totals } = database;
    if (totals.rows < MANY_ROWS) return [];
    return queries
      .map((query, index) => ({ query, index, rows: query.rows ?? 0 }))
      .filter(({ query }) => isLarge(database, query))
      .sort((a, b) => b.rows - a.rows)
      .map(({ query, index, rows }) => {
        const ms = query.durationMs ?? 0;
        const sentence = `${labelOf(database, query)} returned ${count(rows, 'row')} in ${shareOf(ms, wholeMs)}`;
        const anchor = rowOf(database, index);
        return placed(
          { label: 'large result', severity: 'warn', sentence, panel: 'database', anchor, costMs: ms },
          query.caller,
        );
      });
  },
};
