/** Queries or calls that begin while a page is being rendered: what a template shows should be there before. */
import type { Finding, FindingRule } from '../profiler/finding.ts';
import { callName } from './shared/calls.ts';
import { endOf, type Interval, type Kept } from './shared/kept.ts';
import { labelOf, rowOf } from './shared/queries.ts';
import { counted, placed, shareOf } from './shared/wording.ts';

type Given = Pick<Kept, 'views'> & Partial<Pick<Kept, 'database' | 'http_client'>>;

function beganWithin({ startMs }: Interval, view: Interval): boolean {
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
    if (beganWithin(query, view))
      work.push({
        what: labelOf(database, query), panel: 'database', anchor: rowOf(database, index), caller: query.caller,
      }); // prettier-ignore
  });
  http_client?.calls.forEach((call, index) => {
    if (beganWithin(call, view))
      work.push({ what: callName(call), panel: 'http_client', anchor: `c${index + 1}`, caller: call.caller });
  });
  return work;
}

export const templateDoesIo: FindingRule<Given> = {
  name: 'template-does-io',
  needs: ['views'],
  labels: ['view asks'],
  known:
    'A query or an outgoing call of this request began after a page’s rendering had begun and before it had ended.',
  mends:
    'Read all that a page shows in the handler, and hand it to the view as values, not as functions or promises.',
  find(kept, { durationMs: wholeMs }) {
    if (kept.database === undefined && kept.http_client === undefined) return [];
    const found: Finding[] = [];
    for (const view of kept.views.views) {
      if (view.depth !== 0) continue;
      const work = workWithin(kept, view);
      const [first] = work;
      if (first === undefined) continue;
      const costMs = view.durationMs ?? 0;
      const more = work.length === 1 ? '' : ` and ${counted(work.length - 1, 'other')}`;
      const sentence = `${first.what}${more} began while ${view.name.slice(0, 120)} was being rendered, which took ${shareOf(costMs, wholeMs)}`;
      const { panel, anchor } = first;
      found.push(
        placed(
          { label: 'view asks', severity: 'warn', sentence, panel, anchor, costMs },
          first.caller ?? view.caller,
        ),
      );
    }
    return found;
  },
};
