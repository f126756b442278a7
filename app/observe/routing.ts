/**
 * The fact `routing`: which routes there are, and for what was not answered by one, what came near. Types only.
 *
 * One per request. Requests that no route answered get it from the handler that decides about 404, 405 and redirects
 * (a dry match of the live routers: `table` from its `routes()`, `nearest` from `nearestRoutes()`); others get it with
 * `table` alone, added lazily when the answer is over. The routing panel reads it together with the facts `layer` (what
 * really ran) and `route` (what answered). All of it is plain data; what is not known is null.
 */

/** One method of one route, as registered. */
export interface RouteRow {
  /** Upper case; `*`: any. */
  method: string;
  /** With its mounts: `/api/orders/:id`; a regular expression as it is written. */
  pattern: string;
  /** Name of the last handler. */
  handler: string | null;
  /** The name that the owner gave the route. */
  name?: string | null;
  /** `file:line` of the registration. */
  source: string | null;
}

/** A route that may have been meant, and why it did not match. */
export interface NearRouteRow extends RouteRow {
  reason: 'method' | 'slash' | 'mount' | 'case' | 'spelling';
  /** Letters to change where the reason is spelling. */
  distance: number;
}

/**
 * `entered`: a router or sub-application whose mount matches. `passed`: a middleware whose mount matches.
 * `matched`: a route that answers. `path`: the path differs. `method`: the path matches, the method does not.
 * `unreadable`: the match threw, as for `/p/%zz`.
 */
export type MatchVerdict = 'entered' | 'passed' | 'matched' | 'path' | 'method' | 'unreadable';

/** A layer that was asked. */
export interface ConsideredLayer {
  kind: 'middleware' | 'router' | 'route';
  /** Name of the function, `<anonymous>` where it has none. */
  name: string;
  /** With its mounts. */
  pattern: string;
  /** Of a route; empty otherwise. */
  methods: readonly string[];
  verdict: MatchVerdict;
  /** 0 in the application's own router, one more in each router mounted in another. */
  depth: number;
  source: string | null;
}

export interface RoutingFact {
  /** All routes in the order they are asked. */
  table: readonly RouteRow[] | null;
  /** Nearest first. */
  nearest: readonly NearRouteRow[] | null;
  /** Every layer in the order of asking, with what came of it. */
  considered: readonly ConsideredLayer[] | null;
  /** The path tried again with a slash added or removed, and whether a route has it. */
  secondTry: { path: string; matched: boolean } | null;
  redirect: { status: number; location: string } | null;
  /** Methods that the path would have been answered for; empty unless only the method was wrong. */
  allow: readonly string[];
}

declare module '../profiler/facts.ts' {
  interface Facts {
    routing: RoutingFact;
  }
}
