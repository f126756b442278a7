/** Queries or calls that start while a page is rendering. A template should get everything it shows beforehand. */
import type { FindingRule } from '../profiler/finding-rule.ts';
import { callName } from './shared/calls.ts';
import { endOf, type Interval, type Kept } from './shared/kept.ts';
import { labelOf, rowOf } from './shared/queries.ts';
import { count, shareOf } from './shared/wording.ts';

type Given = Pick<Kept, 'views'> & Partial<Pick<Kept, 'database' | 'http_client'>>;

function startedWithin({ startMs }: Interval, view: Interval): boolean {
  return startMs > view.startMs && startMs < endOf(view);
}

interface Work {
  what: string;
  panel: string;
  anchor: string;
  caller: string | null;
}

function workWithin({ database, http_client }: Given, view: Interval): Work[] {
  const work: Work[] = [];
  database?.queries.forEach((query, index) => {
    if (startedWithin(query, view))
      work.push({
        what: labelOf(database, query), panel: 'database', anchor: rowOf(database, index), caller: query.caller,
      }); // prettier-ignore
  });
  http_client?.calls.forEach((call, index) => {
    if (startedWithin(call, view))
      work.push({ what: callName(call), panel: 'http_client', anchor: `c${index + 1}`, caller: call.caller });
  });
  return work;
}

export const templateDoesIo: FindingRule<Given> = {
  name: 'template-does-io',
  needs: ['views'],
  labels: ['query in view', 'call in view'],
  why: 'A query or an outgoing call of this request started after the rendering of a page began and before it ended.',
  fix: 'Load everything the page shows in the handler, and pass values to the view, not functions or promises.',
  find(kept, { durationMs: wholeMs }) {
    if (kept.database === undefined && kept.http_client === undefined) return [];
    return kept.views.views.flatMap((view) => {
      if (view.depth !== 0 || view.durationMs === null) return [];
      const work = workWithin(kept, view);
      const [first] = work;
      if (first === undefined) return [];
      const costMs = view.durationMs;
      const more = work.length === 1 ? '' : ` and ${count(work.length - 1, 'other')}`;
      const sentence = `${first.what}${more} started while ${view.name.slice(0, 120)} was rendering, which took ${shareOf(costMs, wholeMs)}`;
      const { panel, anchor } = first;
      const label = panel === 'database' ? 'query in view' : 'call in view';
      return [
        { label, severity: 'warn', sentence, panel, anchor, costMs, place: first.caller ?? view.caller },
      ];
    });
  },
};
