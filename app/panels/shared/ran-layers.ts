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
