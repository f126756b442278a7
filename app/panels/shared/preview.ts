/** What previews of panels have in common: few rows, the rest counted. */
import type { PanelPreview, PreviewRow } from '../../profiler/panel.ts';

const MOST_ROWS = 5;

/** `items` with what is shown first in front. */
export function firstRows<T>(
  items: readonly T[],
  rowOf: (item: T) => PreviewRow,
): Required<Pick<PanelPreview, 'rows' | 'more'>> {
  return { rows: items.slice(0, MOST_ROWS).map(rowOf), more: Math.max(0, items.length - MOST_ROWS) };
}

/** `41.2 ms, 3 rows`, without what is not known. */
export function noteOf(...parts: readonly (string | null | undefined | false)[]): string {
  return parts.filter((part) => typeof part === 'string' && part !== '').join(', ');
}
