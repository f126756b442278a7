/** Very many statements that no single loop explains, sent from many places. */
import { timesOf } from '../panels/shared/query-groups.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import type { Kept } from './shared/kept.ts';
import { shareOfKind } from './shared/long.ts';
import { workOf } from './shared/queries.ts';
import { count, shareOf } from './shared/wording.ts';

const MANY = 100;
/** A loop with this share of the statements is reported as a loop instead. */
const LOOP_SHARE = 0.5;

export const manyQueries: FindingRule<Pick<Kept, 'database'>> = {
  name: 'many-queries',
  needs: ['database'],
  labels: ['many queries'],
  why: 'The request sent at least 100 statements, not counting begin and commit, and no single loop sent half of them.',
  fix: 'Combine reads that belong together, read less, or cache what rarely changes. The Database panel groups queries by statement.',
  find({ database }, { durationMs: wholeMs }, from) {
    const { queries, groups, totals, unkept } = database;
    if (queries.length < MANY) return [];
    const total = workOf(database, Array.from(queries.keys())) + (unkept?.count ?? 0);
    const loop = Math.max(0, ...groups.map(timesOf));
    if (total < MANY || loop >= total * LOOP_SHARE) return [];
    const { ms: costMs } = shareOfKind(from.time, 'db');
    const sentence = `${count(total, 'statement')}, ${count(totals.statements)} distinct, took ${shareOf(costMs, wholeMs)}`;
    return [{ severity: 'warn', sentence, costMs }];
  },
};
