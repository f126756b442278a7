/**
 * The routes that a 404 or 405 may have meant, and why each did not match: method, slash, missing mount, case, or a few letters.
 * For the error page and the routing panel; bounded, since the path is untrusted.
 */
import { editDistance } from '../profiler/edit-distance.ts';
import type { Facts } from '../profiler/record/facts.ts';
import type { RouteEntry } from './route-list.ts';

type NearRoute = NonNullable<Facts['routing']['nearest']>[number];

/** A longer path is not a misspelling. */
const LONGEST_PATH = 200;
const MOST_ROUTES = 1000;

const PARAMETERS = /(?<=\/)[:*][^/]*/g;

function fill(pattern: string, path: string): string {
  const given = path.split('/');
  return pattern
    .split('/')
    .map((part, index) => (/^[:*]/.test(part) ? (given[index] ?? part) : part))
    .join('/');
}

function trimSlashes(path: string): string {
  return path.replace(/\/+$/, '');
}

function isFor({ method }: RouteEntry, asked: string): boolean {
  return method === asked || method === '*';
}

function compare(entry: RouteEntry, method: string, path: string): NearRoute | null {
  const filled = fill(entry.pattern, path);
  const near = (reason: NearRoute['reason'], distance = 0): NearRoute => ({ ...entry, reason, distance });
  if (filled === path) return isFor(entry, method) ? null : near('method');
  const [a, b] = [trimSlashes(filled), trimSlashes(path)];
  if (a === b) return near('slash');
  if (a.toLowerCase() === b.toLowerCase()) return near('case');
  if (b.length > 1 && (a.endsWith(b) || b.endsWith(a)) && a.length > 1) return near('mount');
  // Values of parameters are the same by definition.
  const same = filled.length - entry.pattern.replace(PARAMETERS, '').length;
  const limit = Math.min(8, Math.floor((Math.max(a.length, b.length) - same) / 4));
  const distance = editDistance(a, b, limit);
  return distance > limit ? null : near('spelling', distance);
}

const MOST_NEAR = 5;
const ORDER: readonly NearRoute['reason'][] = ['method', 'slash', 'case', 'mount', 'spelling'];

export function nearestRoutes(routes: readonly RouteEntry[], method: string, path: string): NearRoute[] {
  if (path.length > LONGEST_PATH) return [];
  return routes
    .slice(0, MOST_ROUTES)
    .map((entry) => compare(entry, method, path))
    .filter((near) => near !== null)
    .sort(
      (a, b) =>
        a.distance - b.distance ||
        ORDER.indexOf(a.reason) - ORDER.indexOf(b.reason) ||
        Number(isFor(b, method)) - Number(isFor(a, method)),
    )
    .slice(0, MOST_NEAR);
}
