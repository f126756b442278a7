/** Rows -> the default entry of a panel in menu and toolbar: its first figure, and the worst tone of its rows. */
import type { PanelSummary } from '../profiler/profile.ts';
import type { Presentation, Tone } from '../profiler/read/rows.ts';
import { valueText } from '../view-helpers/amount.ts';

const WORST: readonly Tone[] = ['bad', 'warn', 'plain'];

export function rowsSummary({ figures = [], sections }: Presentation): PanelSummary | null {
  const [first] = figures;
  if (first === undefined || first.value === null) return null;
  const { value, unit = 'count' } = first;
  const tones = new Set(sections.flatMap(({ rows }) => rows.map(({ tone }) => tone)));
  return {
    text: valueText(value, unit),
    tone: WORST.find((tone) => tones.has(tone)) ?? 'plain',
    ...(typeof value === 'number' && unit === 'count' ? { count: value } : {}),
  };
}
