/** No route answered, though one comes near: another method, a slash, a mount, upper and lower case, or a letter or two. */
import type { KeptRouting, NearGroup } from '../panels/routing/index.ts';
import type { Finding, FindingRule } from '../profiler/finding.ts';
import { counted, placed } from './shared/wording.ts';

/** More letters are another word. */
const MOST_LETTERS = 2;

function isMeant({ reason, distance }: NearGroup): boolean {
  return reason !== 'method' && (reason !== 'spelling' || distance <= MOST_LETTERS);
}

function nameOf({ methods, pattern }: NearGroup): string {
  return `${methods.join(', ')} ${pattern}`;
}

export const routeMissed: FindingRule<{ routing: KeptRouting }> = {
  name: 'route-missed',
  needs: ['routing'],
  labels: ['wrong method', 'near miss'],
  known:
    'No route answered; the routes there are were compared with the path, text by text, when the answer was over.',
  mends: 'Ask for the path or the method that the route has, or give the route the one that is asked for.',
  find({ routing: { route, allow = [], nearest = [], redirect } }, { method, status }) {
    if (route !== null || redirect !== undefined || status === null || status < 400) return [];
    const common = { severity: 'warn' as const, panel: 'routing', anchor: 'nearest' };
    const [wrong] = nearest.filter(({ reason }) => reason === 'method');
    if (allow.length > 0) {
      const finding: Finding = {
        ...common,
        label: 'wrong method',
        sentence: `The path exists for ${counted(allow.length, 'method')}, ${allow.join(', ')}, not for ${method.slice(0, 40)}`,
        anchor: wrong === undefined ? 'allow' : 'nearest',
      };
      return [placed(finding, wrong?.source)];
    }
    const near = nearest.find(isMeant);
    if (near === undefined) return [];
    const sentence = `No route matches; ${nameOf(near)} nearly does: ${near.why ?? near.reason}`;
    return [placed({ ...common, label: 'near miss', sentence }, near.source)];
  },
};
