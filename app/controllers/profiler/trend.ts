/** Columns over time as SVG paths, one per colour, so that no inline style is needed. */
import type { SummaryStep } from '../../profiler/route-summary.ts';

/** The drawing's coordinates: one column per step, HEIGHT high. */
const HEIGHT = 20;
const WIDTH = 0.8;
/** Even the smallest value stays visible. */
const LEAST = 1;

/** `shares`: 0 to 1, by step; null: no column. */
export function columnPath(shares: readonly (number | null)[]): string {
  return shares
    .map((share, index) => {
      if (share === null) return '';
      const height = Math.round(Math.max(LEAST, Math.min(1, share) * HEIGHT) * 10) / 10;
      return `M${index} ${HEIGHT}v-${height}h${WIDTH}v${height}z`;
    })
    .join('');
}

export function boxOf(steps: readonly SummaryStep[]): string {
  return `0 0 ${Math.max(1, steps.length)} ${HEIGHT}`;
}

/** The 95th percentile of each step, against the highest of them. */
export function trendOf(steps: readonly SummaryStep[]) {
  const highest = Math.max(0, ...steps.map(({ p95Ms }) => p95Ms ?? 0));
  const share = ({ p95Ms }: SummaryStep): number => (highest === 0 ? 0 : (p95Ms ?? 0) / highest);
  const draw = (isDrawn: (step: SummaryStep) => boolean): string =>
    columnPath(steps.map((step) => (step.count > 0 && isDrawn(step) ? share(step) : null)));
  return {
    /** `viewBox`; the page stretches it. */
    box: boxOf(steps),
    /** Steps without errors; empty if there are none. */
    plain: draw(({ errors }) => errors === 0),
    failed: draw(({ errors }) => errors > 0),
  };
}
