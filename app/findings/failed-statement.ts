/** A statement that the database refused; above all where the answer tells nobody. */
import type { FindingRule } from '../profiler/finding.ts';
import type { Kept } from './shared/kept.ts';
import { labelOf, rowOf } from './shared/queries.ts';
import { counted, excerpt, placed } from './shared/wording.ts';

export const failedStatement: FindingRule<Pick<Kept, 'database'>> = {
  name: 'failed-statement',
  needs: ['database'],
  labels: ['query failed', 'failed unnoticed'],
  known:
    'The database driver answered a statement with an error; the status of the answer is the one that was sent.',
  mends:
    'Let the error reach the error handler, or answer it where it is caught; where it is expected, ask in a way that does not fail (`on conflict`).',
  find({ database }, { status }) {
    const { queries, totals } = database;
    if (totals.failed === 0) return [];
    const index = queries.findIndex(({ error }) => error !== null);
    const query = queries[index];
    if (query === undefined) return [];
    const unnoticed = status !== null && status < 400;
    const more = totals.failed > 1 ? ` (and ${counted(totals.failed - 1, 'other')})` : '';
    const what = `${labelOf(database, query)} failed${more}: ${excerpt(query.error ?? '')}`;
    return [
      placed(
        {
          label: unnoticed ? 'failed unnoticed' : 'query failed',
          severity: 'warn',
          sentence: unnoticed ? `The answer was ${status} although ${what}` : what,
          panel: 'database',
          anchor: rowOf(database, index),
        },
        query.caller,
      ),
    ];
  },
};
