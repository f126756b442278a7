/** A figure of the report. */
import type { Spread } from './statistics.ts';

export interface Figure {
  what: string;
  unit: string;
  /** The median is the figure. */
  spread: Spread;
}

function formatted(value: number): string {
  if (!Number.isFinite(value)) return '-';
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toFixed(digits);
}

/** A table in Markdown, its columns aligned. */
export function tableOf(figures: readonly Figure[]): string {
  const rows = figures.map(({ what, unit, spread: { median, low, high } }) => [
    what,
    `${formatted(median)} [${formatted(low)}..${formatted(high)}] ${unit}`,
  ]);
  const width = Math.max(...rows.map(([what = '']) => what.length));
  return [
    '| | |',
    '| --- | --- |',
    ...rows.map(([what = '', value]) => `| ${what.padEnd(width)} | ${value} |`),
  ].join('\n');
}
