/** Layers that ran, as the routing panel stores them; other panels and findings read them, too. */
import type { Facts } from '../../profiler/facts.ts';
import { withRoundedTimes } from '../../profiler/recorded-facts.ts';

/** A layer that ran, as it is stored. */
export type RanLayer = Omit<Facts['layer'], 'error'>;

export function ranLayer({ error: _error, ...layer }: Facts['layer']): RanLayer {
  return withRoundedTimes(layer);
}

/** The last middleware or handler that neither called `next()` nor failed; it is taken for the one that responded. */
export function lastRunning(layers: readonly RanLayer[]): RanLayer | undefined {
  return layers.findLast(({ outcome, kind }) => outcome === 'running' && kind !== 'router');
}
