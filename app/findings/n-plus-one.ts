/** The same read from the same line, again and again with different values: one read could fetch all rows. */
import { timesOf } from '../panels/shared/query-groups.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import type { Kept } from './shared/kept.ts';
import { loopsOf } from './shared/queries.ts';
import { loopCode } from './shared/loop-code.ts';

/** Bad from this many reads on, or from this share of the request on. */
const MANY = 10;
const HEAVY_SHARE = 0.2;

export const nPlusOne: FindingRule<Pick<Kept, 'database'>> = {
  name: 'n-plus-one',
  needs: ['database'],
  labels: ['N+1'],
  why: 'At least three reads of this request came from the same line and differ only in their values.',
  fix: 'Collect the values first, then read all rows with one statement (`where id = any(…)`, `whereIn`, a join).',
  find({ database }, { durationMs: wholeMs }) {
    return loopsOf(database, 'n+1', wholeMs).map(({ group, ...loop }) => {
      const { durationMs } = group;
      const heavy = timesOf(group) >= MANY || (wholeMs !== null && durationMs > wholeMs * HEAVY_SHARE);
      return { ...loop, severity: heavy ? 'bad' : 'warn' };
    });
  },
  code({ anchor = '' }, { panels }) {
    const data = panels.database?.data as Kept['database'];
    const group = data.groups[Number(anchor.slice(1)) - 1];
    return group === undefined ? null : loopCode(data, group);
  },
};
