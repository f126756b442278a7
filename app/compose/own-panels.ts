/**
 * Panels that an application adds: they may return anything. It becomes plain JSON before it is masked, so that a `toJSON` adds nothing
 * afterwards, and a value that JSON can't hold (a BigInt, a cycle) fails that panel alone.
 */
import type { Context } from '../profiler/context.ts';
import type { Panel, PanelMenu } from '../profiler/panel.ts';
import { rowsSummary } from '../render/rows-summary.ts';

function plainJson(data: unknown): unknown {
  if (data === null || data === undefined) return null;
  return JSON.parse(JSON.stringify(data)) as unknown;
}

/** Without a summary of its own, a panel's menu shows its first figure. */
function menuOf(panel: Panel): PanelMenu {
  return {
    ...panel.menu,
    summary(data, profile) {
      if (panel.menu?.summary !== undefined) return panel.menu.summary(data, profile);
      return panel.rows === undefined ? null : rowsSummary(panel.rows(data, { profile, amendments: {} }));
    },
  };
}

export function withPlainData(panel: Panel): Panel {
  const properties: PropertyDescriptorMap = { menu: { value: menuOf(panel) } };
  if (panel.collect !== undefined)
    properties.collect = { value: (context: Context) => plainJson(panel.collect?.(context)) };
  // Its methods may be those of a class.
  return Object.create(panel, properties) as Panel;
}
