/** Summaries of requests by route: query and result of `storage.summarize`. Requests without a route are grouped by status. */

import type { Severity } from '../read/finding.ts';

/** The 95th percentile of fewer is about their maximum. */
const LEAST_FOR_P95 = 20;

export function hasTail(count: number): boolean {
  return count >= LEAST_FOR_P95;
}

export interface RouteGroup {
  route: string | null;
  method: string;
  status: number | null;
}

export interface SummaryQuery {
  from: number;
  until: number;
  group?: RouteGroup;
  most?: number;
}

export interface SummaryStep {
  count: number;
  errors: number;
  p50Ms: number | null;
  p95Ms: number | null;
  maxMs: number | null;
}

export interface RouteSummary extends RouteGroup {
  count: number;
  /** Something was thrown, or the status is 5xx. */
  errors: number;
  totalMs: number;
  p50Ms: number | null;
  p95Ms: number | null;
  maxMs: number | null;
  queries: number;
  lastAt: number;
  newest: string;
  slowest: string | null;
  steps: SummaryStep[];
  /** Requests by duration: `durations[i]` lie below `DURATION_EDGES[i]`, the last entry counts those above all edges. */
  durations: number[];
  /** Labels of the worst finding of each request, the most frequent first, MOST_MARKS at most. */
  marks: { mark: string; severity: Severity; count: number }[];
}

export interface RouteSummaries {
  /** Those that took most time, first; MOST_ROUTES at most. */
  routes: RouteSummary[];
  /** Number of groups left out. */
  more: number;
  /** Requests summarized; `newestOnly`: the limit was reached, so there may be older ones. */
  looked: number;
  newestOnly: boolean;
  totalMs: number;
  from: number;
  until: number;
}

export interface RoutePercentilesQuery {
  route: string;
  method: string;
  before: number;
}

export interface RoutePercentiles {
  count: number;
  p50Ms: number | null;
  p95Ms: number | null;
  /** Median and 95th percentile; null if no request has the value. */
  queries: PercentilePair | null;
  blockedMs: PercentilePair | null;
  responseBytes: PercentilePair | null;
}

export type PercentilePair = readonly [p50: number, p95: number];

/** Limits of requests and of milliseconds: every page of a profile reads this, so it must cost next to nothing. */
export const LOOKED_BACK = 1000;
export const LOOKED_BACK_MS = 3_600_000;

export const MOST_SUMMARIZED = 50_000;
export const MOST_ROUTES = 200;
export const MOST_MARKS = 4;
export const SUMMARY_STEPS = 24;
/** Milliseconds, in the steps 1, 2, 5. */
export const DURATION_EDGES: readonly number[] = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000,
];
