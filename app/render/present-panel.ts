/** A panel of a profile -> its rows; a panel that fails is shown as its data. */
import type { Panel, PresentFrom } from '../profiler/panel.ts';
import type { Presentation } from '../profiler/rows.ts';
import { rowsOfData } from './rows-of-data.ts';

/** null if it recorded nothing, or failed. */
export function presentPanel(panel: Panel, from: PresentFrom): Presentation | null {
  const data = from.profile.panels[panel.name]?.data ?? null;
  if (data === null) return null;
  try {
    return panel.rows?.(data, from) ?? rowsOfData(data);
  } catch {
    // Stored by another version, or a panel of the host's own that fails.
    return rowsOfData(data);
  }
}
