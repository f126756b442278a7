/** Requests over time as a drawing: its time span and the paths of its bars. */
import type { ProfileIndex } from '../../../profiler/store/profile-index.ts';
import type {
  ProfileQuery,
  CountsAndHistogram,
  CountsAndHistogramQuery,
} from '../../../profiler/store/storage.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const SPANS = [15 * MINUTE, HOUR, 6 * HOUR, DAY, 3 * DAY, 7 * DAY, 31 * DAY];
const PARTS = 60;
const BAR_WIDTH = 10;
const GAP = 1;
const HEIGHT = 40;
const LOWEST = 3;
const MOMENTS = 4;

export function histogramQuery(
  query: ProfileQuery,
  rows: readonly ProfileIndex[],
  now: number,
): NonNullable<CountsAndHistogramQuery['histogram']> | undefined {
  if (rows.length === 0 || query.text !== undefined) return undefined;
  const end = Math.min(query.until ?? now, now);
  const oldest = Math.min(...rows.map(({ startedAt }) => startedAt));
  const span =
    query.from === undefined
      ? (SPANS.find((length) => end - length <= oldest) ?? end - oldest)
      : Math.max(MINUTE, end - query.from);
  const stepMs = Math.ceil(span / PARTS);
  // Bars lie on a fixed grid, so that they don't change while nothing happens in them.
  const until = (Math.floor(end / stepMs) + 1) * stepMs;
  return { query, from: until - PARTS * stepMs, until, parts: PARTS };
}

function svgPath(heights: readonly number[]): string {
  return heights
    .map((height, i) =>
      height === 0
        ? ''
        : `M${i * BAR_WIDTH} ${HEIGHT}v-${Math.round(height)}h${BAR_WIDTH - GAP}v${Math.round(height)}z`,
    )
    .join('');
}

export function createHistogram(
  query: NonNullable<CountsAndHistogramQuery['histogram']>,
  counted: CountsAndHistogram['histogram'],
) {
  if (counted === null) return null;
  const { from, until, parts } = query;
  const most = Math.max(1, ...counted.parts.map(({ count }) => count));
  const heightOf = (count: number): number =>
    count === 0 ? 0 : Math.max(LOWEST, Math.round((count / most) * HEIGHT));
  const sum = (of: 'count' | 'errors' | 'full'): number =>
    counted.parts.reduce((total, part) => total + part[of], 0);
  return {
    width: parts * BAR_WIDTH,
    height: HEIGHT,
    all: svgPath(counted.parts.map(({ count }) => heightOf(count))),
    inFull: sum('full') === sum('count') ? '' : svgPath(counted.parts.map(({ full }) => heightOf(full))),
    failed: svgPath(counted.parts.map(({ errors }) => heightOf(errors))),
    moments: Array.from(
      { length: MOMENTS },
      (_, i) => from + Math.round(((until - from) * i) / (MOMENTS - 1)),
    ),
    count: sum('count'),
    full: sum('full'),
    errors: sum('errors'),
    most,
    stepMs: Math.ceil((until - from) / parts),
    since: counted.since > from ? counted.since : null,
  };
}
