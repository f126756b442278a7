/**
 * The fact `routing` of a request: what the routers tried, which routes there are, which come close. A dry match over the live routers: no
 * handler runs.
 */
import type { Express } from 'express';
import type { IncomingMessage } from 'node:http';
import { answers, createDryMatcher, type DryMatcher, type DryMatchOptions } from '../middleware/dry-match.ts';
import { nearestRoutes } from '../middleware/nearest-routes.ts';
import { otherSpelling } from '../middleware/not-found.ts';
import { pathOfTarget } from '../middleware/request-target.ts';
import type { Context } from '../profiler/record/context.ts';
import type { Facts } from '../profiler/record/facts.ts';
import { rawHeader } from '../profiler/record/raw-headers.ts';
import { CATCH_ALL, routerOf, stackOf } from '../profiler/record/express-routers.ts';
import { pathOf } from '../profiler/request-target.ts';

type RoutingFact = Facts['routing'];
type Matched = Omit<RoutingFact, 'redirect'>;

/** `isMissed`: a route for all paths that matched called `next()`, as a middleware does. */
function matchAll(matcher: DryMatcher, method: string, path: string, isMissed: boolean): Matched {
  const table = matcher.routes();
  const considered = matcher.consider(method, path);
  const responds = ({ pattern }: { pattern: string }): boolean => !isMissed || !CATCH_ALL.test(pattern);
  const matching = considered.filter(responds);
  if (matching.some(({ verdict }) => verdict === 'matched')) {
    return { table, considered, nearest: null, secondTry: null, allow: [] };
  }
  const other = otherSpelling(path);
  const allowed = matching.flatMap(({ verdict, methods }) => (verdict === 'method' ? methods : []));
  const second = matcher.match(other).routes.filter(responds);
  return {
    table,
    considered,
    nearest: nearestRoutes(table, method, path),
    secondTry: { path: other, matched: second.some((route) => answers(route, method)) },
    // `app.options('*', cors())` responds to preflights for paths that don't exist.
    allow: allowed.every((name) => name === 'OPTIONS') ? [] : [...new Set(allowed)],
  };
}

function redirectOf(context: Context): RoutingFact['redirect'] {
  const response = context.first('response');
  if (response?.status !== 301) return null;
  const location = rawHeader(response.rawHeaders, 'location');
  return location === null ? null : { status: response.status, location };
}

interface Application extends Express {
  parent?: Application;
}

function applicationOf(req: IncomingMessage): Express | undefined {
  let { app } = req as IncomingMessage & { app?: Application };
  while (app?.parent !== undefined) app = app.parent;
  return app;
}

export interface HostRouting {
  /**
   * Adds the fact to requests that no route of a host handled, and to those that a route with parameters answered an error, or a path that
   * another route has literally; the others are described by their layers.
   */
  onFinish(context: Context, req: IncomingMessage): void;
  onMiss(context: Context, req: IncomingMessage): void;
}

/** Matches against the routers of whatever application a request came through. `isForAll`: not only if no route handled it. */
export function createHostRouting(known: DryMatchOptions, isForAll = false): HostRouting {
  const matchers = new WeakMap<object, DryMatcher>();
  const literals = new WeakMap<object, { layers: number; paths: Set<string> }>();

  function matcherOf(app: Express): DryMatcher {
    let matcher = matchers.get(app);
    if (matcher === undefined) {
      matcher = createDryMatcher(app, known);
      matchers.set(app, matcher);
    }
    return matcher;
  }

  function describe(context: Context, req: IncomingMessage, isMissed: boolean): void {
    const app = applicationOf(req);
    const request = context.first('request');
    if (app === undefined || request === undefined) return;
    if (context.kind !== 'request' || context.summary !== null) return;
    try {
      const path = pathOf(pathOfTarget(request.url) ?? '/');
      const matched = matchAll(matcherOf(app), request.method, path, isMissed);
      context.add('routing', { ...matched, redirect: redirectOf(context) });
    } catch {
      // A router that is built in another way: its routes are not described.
    }
  }

  function isLiteralPath(app: Express, url: string): boolean {
    const layers = stackOf(routerOf(app))?.length ?? 0;
    let known = literals.get(app);
    if (known?.layers !== layers) {
      known = {
        layers,
        paths: new Set(
          matcherOf(app)
            .routes()
            .map(({ pattern }) => pattern),
        ),
      };
      literals.set(app, known);
    }
    return known.paths.has(pathOf(url));
  }

  /** Success or not, a later route may have been meant. */
  function isShadowing(context: Context, req: IncomingMessage, status: number): boolean {
    if (!/[:*]/.test(context.last('route')?.pattern ?? '')) return false;
    const url = context.first('request')?.url;
    const app = applicationOf(req);
    return status >= 400 || (app !== undefined && url !== undefined && isLiteralPath(app, url));
  }

  const onMiss: HostRouting['onMiss'] = (context, req) => {
    const pattern = context.last('route')?.pattern;
    const isMissed = pattern === undefined || CATCH_ALL.test(pattern);
    if (isMissed && context.first('routing') === undefined) describe(context, req, true);
  };

  return {
    onMiss,
    onFinish(context, req) {
      const status = context.first('response')?.status ?? 0;
      const isMissed = context.last('route') === undefined;
      if (context.first('routing') !== undefined) return;
      if (isForAll || (isMissed && (status === 404 || status === 405)) || isShadowing(context, req, status))
        describe(context, req, isMissed);
    },
  };
}
