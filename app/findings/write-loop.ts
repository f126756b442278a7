/** The same write from the same line, again and again: one statement can take all rows. */
import type { Finding, FindingRule } from '../profiler/finding.ts';
import type { Kept } from './shared/kept.ts';
import { counted, dearestFirst, placed, shareOf } from './shared/wording.ts';

export const writeLoop: FindingRule<Pick<Kept, 'database'>> = {
  name: 'write-loop',
  needs: ['database'],
  labels: ['loop of writes'],
  known:
    'Three or more inserts, updates or deletes of one request were sent from the same line, and differ only in values.',
  mends:
    'Write all rows by one statement: an insert of many rows, an update from a list of values, `where id = any(…)`.',
  find({ database: { groups, statements } }, { durationMs: wholeMs }) {
    const found: Finding[] = [];
    groups.forEach(({ kind, statement, members, durationMs, caller }, at) => {
      if (kind !== 'loop') return;
      const label = statements[statement]?.label ?? '';
      const how = caller === null ? 'that differ only in values' : 'in a loop';
      const sentence = `${counted(members.length)} × ${label} ${how}, ${shareOf(durationMs, wholeMs)}`;
      const common = { label: 'loop of writes', panel: 'database', anchor: `g${at + 1}` };
      found.push(placed({ ...common, severity: 'warn', sentence, costMs: durationMs }, caller));
    });
    return dearestFirst(found);
  },
};
