/** Calls to one endpoint that differ only in values: the N+1 of services. */
import type { FindingRule } from '../profiler/finding.ts';
import { coveredMs } from '../panels/shared/rows.ts';
import { callName } from './shared/calls.ts';
import { type Call, endOf, type Kept } from './shared/kept.ts';
import { counted, dearestFirst, placed, shareOf } from './shared/wording.ts';

/** From here on it is a loop rather than a handful. */
const MANY = 5;

/** A segment that is a value: a number, an id, anything with a digit in it. */
const VALUE = /^(?:[^/]*\d[^/]*|[0-9a-f-]{16,})$/i;

/** The address without what differs from call to call. */
function shapeOf({ method, url }: Call): string {
  const [, before = '', path = '', query = ''] =
    /^([a-z]+:\/\/[^/?#]*)?([^?#]*)(?:\?([^#]*))?/i.exec(url) ?? [];
  const segments = path.split('/').map((segment) => (VALUE.test(segment) ? ':id' : segment));
  const names = query.split('&').map((pair) => pair.split('=', 1)[0] ?? '');
  return `${method} ${before}${segments.join('/')}?${names.sort().join('&')}`;
}

export const manyCalls: FindingRule<Pick<Kept, 'http_client'>> = {
  name: 'many-calls',
  needs: ['http_client'],
  labels: ['many calls'],
  known:
    'Five or more calls of one request went to the same endpoint, and their addresses differ only in values.',
  mends:
    'Ask for all of them by one call, where the service has one (`?ids=1,2,3`); else start them together, a few at a time.',
  find({ http_client: { calls } }, { durationMs: wholeMs }) {
    if (calls.length < MANY) return [];
    const byShape = new Map<string, number[]>();
    calls.forEach((call, index) => {
      const shape = shapeOf(call);
      const members = byShape.get(shape);
      if (members === undefined) byShape.set(shape, [index]);
      else members.push(index);
    });
    return dearestFirst(
      [...byShape.values()].flatMap((members) => {
        const of = members.map((index) => calls[index]).filter((call) => call !== undefined);
        const [first] = of;
        const different = new Set(of.map(({ url }) => url)).size;
        if (first === undefined || of.length < MANY || different < MANY) return [];
        const costMs = coveredMs(of);
        const inTurn = of.every((call, at) => at === 0 || call.startMs >= endOf(of[at - 1] ?? call));
        const how = inTurn ? ', one after the other' : '';
        const sentence = `${counted(of.length)} × ${callName(first)} and the like, which differ only in values${how}: ${shareOf(costMs, wholeMs)}`;
        const common = { label: 'many calls', panel: 'http_client', anchor: `c${(members[0] ?? 0) + 1}` };
        return [placed({ ...common, severity: inTurn ? 'bad' : 'warn', sentence, costMs }, first.caller)];
      }),
    );
  },
};
