/** Calls to one endpoint that differ only in their values: an N+1 over HTTP. */
import type { FindingRule } from '../profiler/finding-rule.ts';
import { coveredMs, pick } from '../panels/shared/rows.ts';
import { callName } from './shared/calls.ts';
import { type Call, endOf, type Kept } from './shared/kept.ts';
import { count, shareOf } from './shared/wording.ts';
import { addTo } from '../profiler/group-by.ts';

/** Fewer calls are a handful, not a loop. */
const MANY = 5;

/** A path segment that is a value: a number, an id, anything with a digit in it. */
const VALUE = /^(?:[^/]*\d[^/]*|[0-9a-f-]{16,})$/i;

/** The address with its values left out. */
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
  why: 'At least five calls of this request went to the same endpoint, with addresses that differ only in their values.',
  fix: 'Fetch all of them in one call if the service offers it (`?ids=1,2,3`); otherwise start them together, a few at a time.',
  find({ http_client: { calls } }, { durationMs: wholeMs }) {
    if (calls.length < MANY) return [];
    const byShape = new Map<string, number[]>();
    calls.forEach((call, index) => addTo(byShape, shapeOf(call), index));
    return [...byShape.values()].flatMap((members) => {
      const of = pick(calls, members);
      const [first] = of;
      const different = new Set(of.map(({ url }) => url)).size;
      if (first === undefined || of.length < MANY || different < MANY) return [];
      const costMs = coveredMs(of);
      const isSequential = of.every((call, at) => at === 0 || call.startMs >= endOf(of[at - 1] ?? call));
      const how = isSequential ? 'ran one after the other and took' : 'took';
      const sentence = `${callName(first)} and ${count(of.length - 1)} similar calls ${how} ${shareOf(costMs, wholeMs)}`;
      const severity = isSequential ? 'bad' : 'warn';
      return [{ severity, sentence, anchor: `c${(members[0] ?? 0) + 1}`, costMs, place: first.caller }];
    });
  },
};
