/**
 * The fact `routing` of a request, worked out when a panel asks for it: what the routers were asked, which routes there
 * are, which lie near. A dry match over the live routers; no handler runs, and nothing is spent on requests nobody reads.
 */
import { answers, type DryMatcher } from './middleware/dry-match.ts';
import { nearestRoutes } from './middleware/nearest-routes.ts';
import { otherSpelling } from './middleware/not-found.ts';
import { pathOfTarget } from './middleware/request-target.ts';
import type { Context } from './profiler/context.ts';
import type { Facts } from './profiler/facts.ts';

type RoutingFact = Facts['routing'];
type Matched = Omit<RoutingFact, 'redirect'>;

function pathOf(url: string): string {
  const target = pathOfTarget(url) ?? '/';
  const end = target.search(/[?#]/);
  return end === -1 ? target : target.slice(0, end);
}

function matchAll(matcher: DryMatcher, method: string, path: string): Matched {
  const table = matcher.routes();
  const considered = matcher.consider(method, path);
  if (considered.some(({ verdict }) => verdict === 'matched')) {
    return { table, considered, nearest: null, secondTry: null, allow: [] };
  }
  const other = otherSpelling(path);
  return {
    table,
    considered,
    nearest: nearestRoutes(table, method, path),
    secondTry: { path: other, matched: matcher.match(other).routes.some((route) => answers(route, method)) },
    allow: [...new Set(matcher.match(path).routes.flatMap(({ methods }) => methods))],
  };
}

/** Where the answer led, when it was the slash redirect. */
function redirectOf(context: Context): RoutingFact['redirect'] {
  const response = context.first('response');
  if (response?.status !== 301) return null;
  const index = response.rawHeaders.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === 'location');
  const location = response.rawHeaders[index + 1];
  return index === -1 || location === undefined ? null : { status: response.status, location };
}

/** Adds the fact to a request's context; its parts are worked out when they are read. */
export function addRouting(context: Context, matcher: DryMatcher): void {
  const request = context.first('request');
  if (request === undefined || context.kind !== 'request') return;
  let known: Matched | null = null;
  const matched = (): Matched => (known ??= matchAll(matcher, request.method, pathOf(request.url)));
  context.add('routing', {
    get table() {
      return matched().table;
    },
    get nearest() {
      return matched().nearest;
    },
    get considered() {
      return matched().considered;
    },
    get secondTry() {
      return matched().secondTry;
    },
    get redirect() {
      return redirectOf(context);
    },
    get allow() {
      return matched().allow;
    },
  });
}
