/** Summaries of requests by route and release: query and result of `storage.summarizeReleases`. */

/** A route with its method. */
export interface ReleaseRoute {
  route: string;
  method: string;
}

export interface ReleaseQuery {
  /** Only this route; absent: all. */
  of?: ReleaseRoute;
  /** Number of requests, the newest; default and maximum: MOST_OF_RELEASES. */
  most?: number;
}

/** Requests of one release to one route. Requests without a route, or of an unknown release, are not counted. */
export interface ReleaseSummary extends ReleaseRoute {
  release: string;
  count: number;
  /** Something was thrown, or the status is 5xx. */
  errors: number;
  /** Median and 95th percentile of requests that did not fail; null if none of them has ended. */
  p50Ms: number | null;
  p95Ms: number | null;
  /** Median of requests that did not fail; null if all did. */
  queries: number | null;
  /** Milliseconds since 1970. */
  firstAt: number;
  lastAt: number;
  /** Token of its newest request. */
  newest: string;
}

/** Requests summarized at most: as many as a database adds up in a few tenths of a second. */
export const MOST_OF_RELEASES = 50_000;
/** Of one route: they are scattered, so each costs the database more. */
export const MOST_OF_ROUTE = 5000;
/** Pairs of route and release at most, those seen last. */
export const MOST_RELEASE_SUMMARIES = 1000;
