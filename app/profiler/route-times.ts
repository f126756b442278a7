/**
 * How long the latest requests of each route of this process took, for rules that compare a request with what is usual. In memory: the
 * storage knows more, but a rule can't wait for it.
 */

/** Requests remembered of each route, and routes. */
const REMEMBERED = 32;
const MOST_ROUTES = 500;
/** With fewer requests nothing is usual. */
const FEWEST = 5;

export interface RouteTimes {
  /** Milliseconds: the median of the route's latest requests; null if there are too few. */
  usualMs(route: string): number | null;
  /** Counted once for each token: a profile may be built several times. */
  add(route: string, token: string, durationMs: number): void;
}

interface Times {
  latest: number[];
  count: number;
  token: string;
}

export function createRouteTimes(): RouteTimes {
  const routes = new Map<string, Times>();
  return {
    usualMs(route) {
      const { latest = [] } = routes.get(route) ?? {};
      if (latest.length < FEWEST) return null;
      return latest.toSorted((a, b) => a - b)[Math.floor(latest.length / 2)] ?? null;
    },
    add(route, token, durationMs) {
      const known = routes.get(route);
      if (known === undefined) {
        if (routes.size < MOST_ROUTES) routes.set(route, { latest: [durationMs], count: 1, token });
      } else if (known.token !== token) {
        known.latest[known.count++ % REMEMBERED] = durationMs;
        known.token = token;
      }
    },
  };
}
