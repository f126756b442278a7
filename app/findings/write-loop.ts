/** The same write from the same line, again and again: one statement could write all rows. */
import { timesOf } from '../panels/shared/query-groups.ts';
import type { Finding } from '../profiler/finding.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import type { Kept } from './shared/kept.ts';
import { labelOf } from './shared/queries.ts';
import { count, costliestFirst, placed, shareOf } from './shared/wording.ts';

export const writeLoop: FindingRule<Pick<Kept, 'database'>> = {
  name: 'write-loop',
  needs: ['database'],
  labels: ['writes in a loop'],
  why: 'At least three inserts, updates or deletes of this request came from the same line and differ only in their values.',
  fix: 'Write all rows with one statement: a multi-row insert, an update from a list of values, `where id = any(…)`.',
  find({ database }, { durationMs: wholeMs }) {
    const found: Finding[] = [];
    database.groups.forEach((group, at) => {
      const { kind, durationMs, caller } = group;
      if (kind !== 'loop') return;
      const label = labelOf(database, group);
      const how = caller === null ? 'that differ only in values' : 'in a loop';
      const sentence = `${count(timesOf(group))} × ${label} ${how}: ${shareOf(durationMs, wholeMs)}`;
      const common = { label: 'writes in a loop', panel: 'database', anchor: `g${at + 1}` };
      found.push(placed({ ...common, severity: 'warn', sentence, costMs: durationMs }, caller));
    });
    return costliestFirst(found);
  },
};
