/** No route matched, but a similar one exists: another method, slash, mount path, letter case, or one or two letters. */
import type { KeptRouting, NearGroup } from '../panels/routing/data.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { count } from './shared/wording.ts';

/** With more letters changed it is a different word. */
const MOST_LETTERS = 2;

function isSimilar({ reason, distance }: NearGroup): boolean {
  return reason !== 'method' && (reason !== 'spelling' || distance <= MOST_LETTERS);
}

function nameOf({ methods, pattern }: NearGroup): string {
  return `${methods.join(', ')} ${pattern}`;
}

export const routeMissed: FindingRule<{ routing: KeptRouting }> = {
  name: 'route-missed',
  needs: ['routing'],
  labels: ['wrong method', 'similar route'],
  why: 'No route handled the request. After the response, the path was compared with the registered routes.',
  fix: 'Request the path or method that the route has, or change the route to match the request.',
  find({ routing: { route, allow = [], nearest = [], redirect } }, { method, status }) {
    if (route !== null || redirect !== undefined || status === null || status < 400) return [];
    const common = { broke: 'response', severity: 'warn', anchor: 'nearest' } as const;
    const [wrong] = nearest.filter(({ reason }) => reason === 'method');
    if (allow.length > 0) {
      const sentence = `This path allows ${count(allow.length, 'method')} (${allow.join(', ')}), not ${method.slice(0, 40)}`;
      const anchor = wrong === undefined ? 'allow' : 'nearest';
      return [{ ...common, sentence, anchor, place: wrong?.source }];
    }
    const near = nearest.find(isSimilar);
    if (near === undefined) return [];
    const sentence = `No route matches; closest is ${nameOf(near)} (${near.why ?? near.reason})`;
    return [{ ...common, label: 'similar route', sentence, place: near.source }];
  },
};
