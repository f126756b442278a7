/**
 * The fact `routing`, types only: which routes there are and, for an unmatched request, which came close. Requests without a route
 * get all of it from the handler that decides about 404, 405 and redirects; others get `table`, added lazily at the end. Unknown
 * values are null.
 */

export interface RouteRow {
  method: string;
  pattern: string;
  handler: string | null;
  name?: string | null;
  source: string | null;
}

/** A route that may have been meant, and why it did not match. */
export interface NearRouteRow extends RouteRow {
  reason: 'method' | 'slash' | 'mount' | 'case' | 'spelling';
  distance: number;
}

/**
 * `entered`: a router or sub-application whose mount matches. `passed`: a middleware whose mount matches. `matched`: a route that
 * handles the request. `path`: the path differs. `method`: the path matches, the method does not. `unreadable`: matching threw, as
 * for `/p/%zz`.
 */
export type MatchVerdict = 'entered' | 'passed' | 'matched' | 'path' | 'method' | 'unreadable';

export interface ConsideredLayer {
  kind: 'middleware' | 'router' | 'route';
  name: string;
  pattern: string;
  methods: readonly string[];
  verdict: MatchVerdict;
  /** 0 in the application's own router, one more in each router mounted in another. */
  depth: number;
  source: string | null;
}

export interface RoutingFact {
  table: readonly RouteRow[] | null;
  nearest: readonly NearRouteRow[] | null;
  considered: readonly ConsideredLayer[] | null;
  secondTry: { path: string; matched: boolean } | null;
  redirect: { status: number; location: string } | null;
  allow: readonly string[];
}

declare module '../../profiler/record/facts.ts' {
  interface Facts {
    routing: RoutingFact;
  }
}
