/** A statement that failed in the database; labelled differently if the response hides it. */
import type { FindingRule } from '../profiler/finding-rule.ts';
import type { Kept } from './shared/kept.ts';
import { labelOf, rowOf } from './shared/queries.ts';
import { brokeBy, count, excerpt, failureOf } from './shared/wording.ts';

export const failedStatement: FindingRule<Pick<Kept, 'database'>> = {
  name: 'failed-statement',
  needs: ['database'],
  labels: ['query failed', 'failure ignored'],
  why: 'The database driver returned an error for a statement. The status is the one that this request sent.',
  fix: 'Pass the error on to the error handler, or handle it where you catch it. If it is expected, use a statement that does not fail (`on conflict`).',
  find({ database }, { status }) {
    const { queries, totals } = database;
    if (totals.failed === 0) return [];
    const index = queries.findIndex(({ error }) => error !== null);
    const query = queries[index];
    if (query === undefined) {
      const sentence = `${count(totals.failed, 'statement')} failed past the recording limit`;
      return [{ broke: brokeBy(status), severity: 'warn', sentence }];
    }
    const more = totals.failed > 1 ? `, as did ${count(totals.failed - 1, 'other statement')}` : '';
    const what = `${labelOf(database, query)} failed (${excerpt(query.error ?? '')})${more}`;
    const anchor = rowOf(database, index);
    return [{ ...failureOf(what, status), severity: 'warn', anchor, place: query.caller }];
  },
};
