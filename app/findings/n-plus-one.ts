/** The same read from the same line, again and again with other values: one that reads all of them would do. */
import type { Finding, FindingRule } from '../profiler/finding.ts';
import type { Kept } from './shared/kept.ts';
import { counted, dearestFirst, placed, shareOf } from './shared/wording.ts';

/** From here on, or from this share of the request on, it is bad at once. */
const MANY = 10;
const HEAVY_SHARE = 0.2;

export const nPlusOne: FindingRule<Pick<Kept, 'database'>> = {
  name: 'n-plus-one',
  needs: ['database'],
  labels: ['N+1'],
  known:
    'Three or more reads of one request were sent from the same line, and they differ in nothing but their values.',
  mends:
    'Collect the values first and read all rows by one statement (`where id = any(…)`, `whereIn`, a join).',
  find({ database: { groups, statements } }, { durationMs: wholeMs }) {
    const found: Finding[] = [];
    groups.forEach(({ kind, statement, members, durationMs, caller }, at) => {
      if (kind !== 'n+1') return;
      const heavy = members.length >= MANY || (wholeMs !== null && durationMs > wholeMs * HEAVY_SHARE);
      const label = statements[statement]?.label ?? '';
      const how = caller === null ? 'that differ only in values' : 'in a loop';
      const sentence = `${counted(members.length)} × ${label} ${how}, ${shareOf(durationMs, wholeMs)}`;
      const severity = heavy ? 'bad' : 'warn';
      found.push(
        placed(
          { label: 'N+1', severity, sentence, panel: 'database', anchor: `g${at + 1}`, costMs: durationMs },
          caller,
        ),
      );
    });
    return dearestFirst(found);
  },
};
