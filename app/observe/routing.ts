/**
 * The fact `routing`: what the routers were asked and why each answer was no. Types only.
 *
 * One per request, appended by whoever walks the router stack: by the handler of unmatched requests (with `considered`,
 * `secondTry`, `redirect`, `allow`), or for matched ones when the answer is over (then with `table`, and `considered`
 * where it is cheap). The walk never calls a handler. The routing panel reads it together with the facts `layer`
 * (what really ran) and `route` (what answered). Everything here is plain data.
 */

/** A route as registered, with the patterns of its mounts put before its own. */
export interface RouteRow {
  /** The name the owner gave it, else null. */
  name: string | null;
  /** Upper case, in the order of declaration, without the HEAD that GET brings along; `*` for all. */
  methods: readonly string[];
  /** `/orders/:id`; a regular expression in its written form. */
  pattern: string;
  /** `file:line` of the registration where known. */
  source: string | null;
}

/**
 * `entered`: a router or sub-application whose mount matches. `passed`: a middleware whose mount matches.
 * `matched`: the route that answers. `path`: the path differs. `method`: the path matches, the method does not.
 * `unreadable`: the match threw, as for `/p/%zz`.
 */
export type MatchVerdict = 'entered' | 'passed' | 'matched' | 'path' | 'method' | 'unreadable';

/** A layer that was asked, in the order of asking. */
export interface ConsideredLayer {
  kind: 'middleware' | 'router' | 'route' | 'error';
  /** Name of the function, `<anonymous>` where it has none. */
  name: string;
  /** With its mounts, like `RouteRow.pattern`. */
  pattern: string;
  /** Of a route; empty otherwise. */
  methods: readonly string[];
  verdict: MatchVerdict;
  /** 0 at the application itself, one more in each router. */
  depth: number;
  source: string | null;
}

export interface RoutingFact {
  /** All routes of the application in the order they are asked; null where the walk was not made. */
  table: readonly RouteRow[] | null;
  /** null where the walk was not made. */
  considered: readonly ConsideredLayer[] | null;
  /** The path tried again with a slash added or removed, and whether a route has it. */
  secondTry: { path: string; matched: boolean } | null;
  redirect: { status: number; location: string } | null;
  /** Methods the path would have been answered for; empty unless only the method was wrong. */
  allow: readonly string[];
}

declare module '../profiler/facts.ts' {
  interface Facts {
    routing: RoutingFact;
  }
}
