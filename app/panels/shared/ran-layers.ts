/** Layers that ran, as the routing panel stores them; other panels and findings read them, too. */
import type { Facts } from '../../profiler/record/facts.ts';
import { withRoundedTimes } from '../../profiler/record/recorded-facts.ts';

export type RanLayer = Omit<Facts['layer'], 'error'>;

export function ranLayer({ error: _error, ...layer }: Facts['layer']): RanLayer {
  return withRoundedTimes(layer);
}

/** A handler that responds and then calls `next()` makes others start after it. */
export function startedBefore(headersAtMs: number | null): (layer: RanLayer) => boolean {
  return ({ startMs }) => headersAtMs === null || startMs < headersAtMs;
}

/**
 * The last middleware or handler that neither called `next()` nor failed; it is taken for the one that responded. If there is none, it
 * is the last one that called `next()` after the headers had been sent.
 */
export function lastRunning(
  layers: readonly RanLayer[],
  headersAtMs: number | null = null,
): RanLayer | undefined {
  const ran = layers.filter(({ kind }) => kind !== 'router');
  const before = ran.filter(startedBefore(headersAtMs));
  return (
    before.findLast(({ outcome }) => outcome === 'running') ??
    (before.length < ran.length ? before.at(-1) : undefined) ??
    before.findLast(
      ({ outcome, startMs, nextMs }) =>
        outcome === 'next' && headersAtMs !== null && startMs + (nextMs ?? 0) > headersAtMs,
    )
  );
}

/** Other handlers called `next()`. */
export function isHandlerOf(route: string) {
  return ({ kind, pattern }: RanLayer): boolean => kind === 'handler' && pattern === route;
}

/** What is mounted below a path and responds to all of it, such as a server of GraphQL: a handler, though Express calls it a middleware. */
export function mountedHandler(
  layers: readonly RanLayer[],
  route: { pattern: string } | null,
): RanLayer | undefined {
  if (route === null || route.pattern === '/' || layers.some(isHandlerOf(route.pattern))) return undefined;
  return layers.findLast(
    ({ kind, outcome, pattern }) =>
      kind === 'middleware' && outcome === 'running' && pattern === route.pattern,
  );
}
