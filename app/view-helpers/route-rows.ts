/** The routes of a request that none of them handled, each once: those that may have been meant come first, with their reason. */

interface RouteLike {
  methods: readonly string[];
  pattern: string;
  handler: string | null;
  source: string | null;
  why: string | null;
}

export type NumberedRoute<Route> = Route & {
  /** In the order in which routes are tried, from 1. */
  number: number;
  isNear: boolean;
};

export function nearestFirst<Route extends RouteLike>(
  nearest: readonly Route[],
  routes: readonly Route[],
): NumberedRoute<Route>[] {
  const numbered = routes.map((route, index) => ({ ...route, number: index + 1, isNear: false }));
  const near = nearest.map((route, index) => {
    const listed = numbered.find(
      ({ pattern, handler, source }) =>
        pattern === route.pattern && handler === route.handler && source === route.source,
    );
    const { number, methods } = listed ?? { number: routes.length + index + 1, methods: route.methods };
    return { ...route, methods, number, isNear: true };
  });
  const numbers = new Set(near.map(({ number }) => number));
  return [
    ...near.filter(({ number }, index) => near.findIndex((other) => other.number === number) === index),
    ...numbered.filter(({ number }) => !numbers.has(number)),
  ];
}
