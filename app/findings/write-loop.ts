/** The same write from the same line, again and again: one statement could write all rows. */
import type { FindingRule } from '../profiler/finding-rule.ts';
import type { Kept } from './shared/kept.ts';
import { loopsOf } from './shared/queries.ts';

export const writeLoop: FindingRule<Pick<Kept, 'database'>> = {
  name: 'write-loop',
  needs: ['database'],
  labels: ['writes in a loop'],
  why: 'At least three inserts, updates or deletes of this request came from the same line and differ only in their values.',
  fix: 'Write all rows with one statement: a multi-row insert, an update from a list of values, `where id = any(…)`.',
  find({ database }, { durationMs: wholeMs }) {
    return loopsOf(database, 'loop', wholeMs).map(({ group: _group, ...loop }) => ({
      ...loop,
      severity: 'warn',
    }));
  },
};
