/** So many statements that no single loop explains them: a page that asks too much, in too many places. */
import type { FindingRule } from '../profiler/finding.ts';
import type { Kept } from './shared/kept.ts';
import { workOf } from './shared/queries.ts';
import { counted, shareOf } from './shared/wording.ts';

const MANY = 100;
/** A loop with this share of them is told of as a loop, and is enough. */
const LOOP_SHARE = 0.5;

export const manyQueries: FindingRule<Pick<Kept, 'database'>> = {
  name: 'many-queries',
  needs: ['database'],
  labels: ['many queries'],
  known:
    'The request sent a hundred statements or more, begin and commit aside, and no loop sent half of them.',
  mends:
    'Read what belongs together by one statement, ask for less, or keep what seldom changes; the panel groups them by statement.',
  find({ database }, { durationMs: wholeMs }) {
    const { queries, groups, totals } = database;
    if (queries.length < MANY) return [];
    const count = workOf(database, Array.from(queries.keys()));
    const loop = Math.max(0, ...groups.map(({ members }) => members.length));
    if (count < MANY || loop >= count * LOOP_SHARE) return [];
    const sentence = `${counted(count, 'statement')}, ${counted(totals.statements)} different ones, took ${shareOf(totals.busyMs, wholeMs)}`;
    return [{ label: 'many queries', severity: 'warn', sentence, panel: 'database', costMs: totals.busyMs }];
  },
};
