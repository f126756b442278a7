/**
 * The fact `routing` of a request, derived when a panel reads it: what the routers tried, which routes there are, which come close.
 * A dry match over the live routers: no handler runs, and it costs nothing unless the request is read.
 */
import type { Express } from 'express';
import type { IncomingMessage } from 'node:http';
import { answers, createDryMatcher, type DryMatcher, type DryMatchOptions } from '../middleware/dry-match.ts';
import { nearestRoutes } from '../middleware/nearest-routes.ts';
import { otherSpelling } from '../middleware/not-found.ts';
import { pathOfTarget } from '../middleware/request-target.ts';
import type { Context } from '../profiler/context.ts';
import type { Facts } from '../profiler/facts.ts';
import { routerOf, stackOf } from '../profiler/express-routers.ts';
import { pathOf } from '../profiler/request-target.ts';

type RoutingFact = Facts['routing'];
type Matched = Omit<RoutingFact, 'redirect'>;

function matchAll(matcher: DryMatcher, method: string, path: string): Matched {
  const table = matcher.routes();
  const considered = matcher.consider(method, path);
  if (considered.some(({ verdict }) => verdict === 'matched')) {
    return { table, considered, nearest: null, secondTry: null, allow: [] };
  }
  const other = otherSpelling(path);
  const allowed = considered.flatMap(({ verdict, methods }) => (verdict === 'method' ? methods : []));
  return {
    table,
    considered,
    nearest: nearestRoutes(table, method, path),
    secondTry: { path: other, matched: matcher.match(other).routes.some((route) => answers(route, method)) },
    // `app.options('*', cors())` responds to preflights for paths that don't exist.
    allow: allowed.every((name) => name === 'OPTIONS') ? [] : [...new Set(allowed)],
  };
}

/** Where the response redirected to, if it was the slash redirect. */
function redirectOf(context: Context): RoutingFact['redirect'] {
  const response = context.first('response');
  if (response?.status !== 301) return null;
  const index = response.rawHeaders.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === 'location');
  const location = response.rawHeaders[index + 1];
  return index === -1 || location === undefined ? null : { status: response.status, location };
}

/**
 * The fact, whose parts are derived when they are read. A class, because V8 allocates what an accessor of a single object consists of in the
 * old generation, where it would keep the request alive until the next major collection.
 */
class LazyRouting implements RoutingFact {
  readonly #context: Context;
  readonly #matcher: DryMatcher;
  readonly #request: Facts['request'];
  #known: Matched | null = null;

  constructor(context: Context, matcher: DryMatcher, request: Facts['request']) {
    this.#context = context;
    this.#matcher = matcher;
    this.#request = request;
  }

  get #matched(): Matched {
    const { method, url } = this.#request;
    return (this.#known ??= matchAll(this.#matcher, method, pathOf(pathOfTarget(url) ?? '/')));
  }

  get table(): RoutingFact['table'] {
    return this.#matched.table;
  }

  get nearest(): RoutingFact['nearest'] {
    return this.#matched.nearest;
  }

  get considered(): RoutingFact['considered'] {
    return this.#matched.considered;
  }

  get secondTry(): RoutingFact['secondTry'] {
    return this.#matched.secondTry;
  }

  get redirect(): RoutingFact['redirect'] {
    return redirectOf(this.#context);
  }

  get allow(): RoutingFact['allow'] {
    return this.#matched.allow;
  }
}

/** Adds the fact to a request's context. */
export function addRouting(context: Context, matcher: DryMatcher): void {
  const request = context.first('request');
  if (request === undefined || context.kind !== 'request') return;
  context.add('routing', new LazyRouting(context, matcher, request));
}

export interface HostRouting {
  /**
   * Adds the fact to requests that no route of a host handled, and to those that a route with parameters answered an error, or a path that
   * another route has literally; the others are described by their layers.
   */
  onFinish(context: Context, req: IncomingMessage): void;
  /** The same before the response, for the 404 page. */
  onMiss(context: Context, req: IncomingMessage): void;
}

/** Matches against the routers of whatever application a request came through, only when no route handled it. */
export function createHostRouting(known: DryMatchOptions): HostRouting {
  const matchers = new WeakMap<object, DryMatcher>();
  /** Patterns of all routes, read again when the application has another number of layers; a literal one is its path. */
  const literals = new WeakMap<object, { layers: number; paths: Set<string> }>();

  function matcherOf(app: Express): DryMatcher {
    let matcher = matchers.get(app);
    if (matcher === undefined) {
      matcher = createDryMatcher(app, known);
      matchers.set(app, matcher);
    }
    return matcher;
  }

  function describe(context: Context, req: IncomingMessage): void {
    const { app } = req as IncomingMessage & { app?: Express };
    if (app !== undefined) addRouting(context, matcherOf(app));
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
    if (!/[:*]/.test(context.first('route')?.pattern ?? '')) return false;
    const url = context.first('request')?.url;
    const { app } = req as IncomingMessage & { app?: Express };
    return status >= 400 || (app !== undefined && url !== undefined && isLiteralPath(app, url));
  }

  const onMiss: HostRouting['onMiss'] = (context, req) => {
    if (context.first('route') !== undefined || context.first('routing') !== undefined) return;
    describe(context, req);
  };

  return {
    onMiss,
    onFinish(context, req) {
      const status = context.first('response')?.status ?? 0;
      if (status === 404 || status === 405) onMiss(context, req);
      if (context.first('routing') === undefined && isShadowing(context, req, status)) describe(context, req);
    },
  };
}
