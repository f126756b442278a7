/** Layers that ran, as the routing panel stores them; other panels and findings read them, too. */
import type { Facts } from '../../profiler/record/facts.ts';
import { withRoundedTimes } from '../../profiler/record/recorded-facts.ts';

export type RanLayer = Omit<Facts['layer'], 'error'>;

export function ranLayer({ error: _error, ...layer }: Facts['layer']): RanLayer {
  return withRoundedTimes(layer);
}

/**
 * The last middleware or handler that neither called `next()` nor failed; it is taken for the one that responded. Those that started after
 * the headers had been sent, because a handler responded and called `next()`, are not: the last one before them is.
 */
export function lastRunning(
  layers: readonly RanLayer[],
  headersAtMs: number | null = null,
): RanLayer | undefined {
  const before = layers.filter(
    ({ startMs, kind }) => kind !== 'router' && (headersAtMs === null || startMs < headersAtMs),
  );
  const running = before.findLast(({ outcome }) => outcome === 'running');
  return before.length === layers.filter(({ kind }) => kind !== 'router').length
    ? running
    : (running ?? before.at(-1));
}

/** What is mounted below a path and responds to all of it, such as a server of GraphQL: a handler, though Express calls it a middleware. */
export function mountedHandler(
  layers: readonly RanLayer[],
  route: { pattern: string } | null,
): RanLayer | undefined {
  if (route === null || route.pattern === '/' || layers.some(({ kind }) => kind === 'handler'))
    return undefined;
  return layers.findLast(
    ({ kind, outcome, pattern }) =>
      kind === 'middleware' && outcome === 'running' && pattern === route.pattern,
  );
}
