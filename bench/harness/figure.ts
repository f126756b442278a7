/** A figure of the report: what was measured, with its goal where it has one. */
import type { Spread } from './statistics.ts';

export interface Figure {
  /** Number of the goal in the table of README.md; null: for comparison only. */
  goal: number | null;
  what: string;
  value: number;
  unit: string;
  spread?: Spread;
  /** What must and what should be kept; `atLeast` turns them round. */
  must?: number;
  aim?: number;
  atLeast?: boolean;
}

export type Verdict = 'aim kept' | 'kept' | 'MISSED' | '';

export function verdictOf({ value, must, aim, atLeast = false }: Figure): Verdict {
  const keeps = (limit: number): boolean => (atLeast ? value >= limit : value <= limit);
  if (aim !== undefined && keeps(aim)) return 'aim kept';
  if (must === undefined) return '';
  return keeps(must) ? 'kept' : 'MISSED';
}

function formatted(value: number): string {
  if (!Number.isFinite(value)) return '-';
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toFixed(digits);
}

function cellsOf(figure: Figure): string[] {
  const { goal, what, value, unit, spread, must, aim } = figure;
  const range = spread === undefined ? '' : ` [${formatted(spread.low)}..${formatted(spread.high)}]`;
  return [
    goal === null ? '' : String(goal),
    what,
    `${formatted(value)}${range} ${unit}`.trim(),
    must === undefined ? '' : formatted(must),
    aim === undefined ? '' : formatted(aim),
    verdictOf(figure),
  ];
}

/** A table in Markdown, its columns aligned. */
export function tableOf(figures: readonly Figure[]): string {
  const rows = [['goal', 'what', 'measured', 'must', 'aim', ''], ...figures.map(cellsOf)];
  const widths =
    rows[0]?.map((_, column) => Math.max(3, ...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  const lines = rows.map(
    (row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`,
  );
  lines.splice(1, 0, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`);
  return lines.join('\n');
}
