/**
 * What the requests of a route have in common: the question and the answer of `storage.summarize`, and the steps that its
 * figures are counted in. Requests without a route are told apart by their status.
 */

/** One group of requests. */
export interface RouteGroup {
  /** Pattern; null: no route answered. */
  route: string | null;
  /** As recorded; empty for those without a route. */
  method: string;
  /** Of those without a route; else null. */
  status: number | null;
}

export interface SummaryQuery {
  /** Milliseconds since 1970, inclusive; 0: whatever is kept. */
  from: number;
  /** Exclusive. */
  until: number;
  /** This group alone. */
  group?: RouteGroup;
  /** Requests looked at, the newest; default and most: MOST_SUMMARIZED. */
  most?: number;
}

/** A part of the time looked at. */
export interface SummaryStep {
  count: number;
  errors: number;
  /** Null where no request of it has ended. */
  p50Ms: number | null;
  p95Ms: number | null;
  maxMs: number | null;
}

export interface RouteSummary extends RouteGroup {
  count: number;
  /** Something was thrown, or the status is 5xx. */
  errors: number;
  /** Of all its requests that ended. */
  totalMs: number;
  p50Ms: number | null;
  p95Ms: number | null;
  maxMs: number | null;
  /** Median. */
  queries: number;
  /** Milliseconds since 1970. */
  lastAt: number;
  newest: string;
  /** null where none has ended. */
  slowest: string | null;
  /** SUMMARY_STEPS of them, from the oldest. */
  steps: SummaryStep[];
  /** Requests by duration: `durations[i]` lie below `DURATION_EDGES[i]`, the last ones above all edges. */
  durations: number[];
  /** Badges of the worst finding of each request, the most frequent first, MOST_MARKS at most. */
  marks: { mark: string; count: number }[];
}

export interface RouteSummaries {
  /** Those that took most time first, MOST_ROUTES at most. */
  routes: RouteSummary[];
  /** Groups that are left out. */
  more: number;
  /** Requests looked at; `newestOnly`: as many as are looked at, so that there may be older ones. */
  looked: number;
  newestOnly: boolean;
  /** Milliseconds of all requests looked at. */
  totalMs: number;
  /** The time that the steps divide, in milliseconds since 1970: from the oldest request looked at. */
  from: number;
  until: number;
}

/** Durations of a route before a given request. */
export interface RoutePercentilesQuery {
  route: string;
  method: string;
  /** Milliseconds since 1970, exclusive. */
  before: number;
}

export interface RoutePercentiles {
  /** Completed requests of the route among the newest LOOKED_BACK. */
  count: number;
  /** null if there are none. */
  p50Ms: number | null;
  p95Ms: number | null;
}

/** Limits of requests and of milliseconds: every page of a profile reads this, so it must cost next to nothing. */
export const LOOKED_BACK = 1000;
export const LOOKED_BACK_MS = 3_600_000;

/** Requests that are looked at: as many as a database adds up in a few tenths of a second. */
export const MOST_SUMMARIZED = 50_000;
export const MOST_ROUTES = 200;
export const MOST_MARKS = 4;
export const SUMMARY_STEPS = 24;
/** Milliseconds, in the steps 1, 2, 5. */
export const DURATION_EDGES: readonly number[] = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000,
];
