/** A statement that took long; with its plan, how much it read for what it gave. */
import type { FindingRule } from '../profiler/finding.ts';
import type { Kept } from './shared/kept.ts';
import { sayOfPlan } from './shared/plans.ts';
import { isLarge, labelOf, rowOf } from './shared/queries.ts';
import { counted, placed, shareOf } from './shared/wording.ts';

/** From here on a statement is called slow. */
const SLOW_MS = 100;

export const slowStatement: FindingRule<Pick<Kept, 'database'>> = {
  name: 'slow-statement',
  needs: ['database'],
  labels: ['slow query'],
  known:
    'The statement took 100 ms or longer from its sending to the driver’s answer; what its plan reads is PostgreSQL’s estimate, asked for after the answer.',
  mends:
    'Look at its plan: an index on what it filters or joins by, fewer rows or columns, or work done once instead of each time.',
  find({ database }, { durationMs: wholeMs }) {
    const { queries } = database;
    return (
      queries
        .map((query, index) => ({ query, index, ms: query.durationMs ?? 0 }))
        // What is slow for its many rows is told of as such.
        .filter(({ query, ms }) => ms >= SLOW_MS && !isLarge(database, query))
        .sort((a, b) => b.ms - a.ms)
        .map(({ query, index, ms }) => {
          const rows = query.rows === null ? '' : ` and gave ${counted(query.rows, 'row')}`;
          const sentence = `${labelOf(database, query)} took ${shareOf(ms, wholeMs)}${rows}`;
          const anchor = rowOf(database, index);
          return placed(
            { label: 'slow query', severity: 'warn', sentence, panel: 'database', anchor, costMs: ms },
            query.caller,
          );
        })
    );
  },
  amend(finding, { panels }, { plan }) {
    if (plan === undefined) return finding;
    const data = panels.database?.data as Kept['database'];
    const says = sayOfPlan(plan, (index) => rowOf(data, index) === finding.anchor);
    return says === null ? finding : { ...finding, sentence: `${finding.sentence}; ${says}` };
  },
};
