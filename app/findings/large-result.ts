/** A read that brings thousands of rows into memory. */
import type { FindingRule } from '../profiler/finding.ts';
import type { Kept } from './shared/kept.ts';
import { isLarge, labelOf, MANY_ROWS, rowOf } from './shared/queries.ts';
import { counted, placed, shareOf } from './shared/wording.ts';

export const largeResult: FindingRule<Pick<Kept, 'database'>> = {
  name: 'large-result',
  needs: ['database'],
  labels: ['many rows'],
  known: 'The driver told how many rows the statement gave back: five thousand or more.',
  mends: 'Read a page of them (`limit`, by key), let the database add them up, or stream them.',
  find({ database }, { durationMs: wholeMs }) {
    const { queries, totals } = database;
    if (totals.rows < MANY_ROWS) return [];
    return queries
      .map((query, index) => ({ query, index, rows: query.rows ?? 0 }))
      .filter(({ query }) => isLarge(database, query))
      .sort((a, b) => b.rows - a.rows)
      .map(({ query, index, rows }) => {
        const ms = query.durationMs ?? 0;
        const sentence = `${labelOf(database, query)} gave ${counted(rows, 'row')} in ${shareOf(ms, wholeMs)}`;
        const anchor = rowOf(database, index);
        return placed(
          { label: 'many rows', severity: 'warn', sentence, panel: 'database', anchor, costMs: ms },
          query.caller,
        );
      });
  },
};
