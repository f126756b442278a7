/**
 * Panels that an application adds: they may return anything. It becomes plain JSON before it is masked, so that a `toJSON` adds nothing
 * afterwards, and a value that JSON can't hold (a BigInt, a cycle) fails that panel alone.
 */
import type { Context } from '../profiler/context.ts';
import type { Panel } from '../profiler/panel.ts';

function plainJson(data: unknown): unknown {
  if (data === null || data === undefined) return null;
  return JSON.parse(JSON.stringify(data)) as unknown;
}

export function withPlainData(panel: Panel): Panel {
  if (panel.collect === undefined) return panel;
  const collect = (context: Context): unknown => plainJson(panel.collect?.(context));
  // Its other methods may be those of a class.
  return Object.create(panel, { collect: { value: collect } }) as Panel;
}
