/** Requests over time as a drawing: which stretch of time it shows, and the outline of its bars. */
import type { ProfileIndex } from '../../profiler/profile-index.ts';
import type { ProfileQuery, Survey, SurveyQuery } from '../../profiler/storage.ts';

export interface PulseModel {
  /** Width of the drawing in its own units; one bar is BAR_WIDTH. Its height is PULSE_HEIGHT. */
  width: number;
  height: number;
  /** SVG paths: all requests; those that failed. */
  all: string;
  failed: string;
  /** Moments below the drawing, at equal distances from one end to the other. */
  moments: number[];
  count: number;
  errors: number;
  /** The most in one bar, and the milliseconds that a bar stands for. */
  most: number;
  stepMs: number;
  /** The moment from which on requests are drawn, where there are too many for all; else null. */
  since: number | null;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** The shortest of these that holds all rows of the page is shown. */
const SPANS = [15 * MINUTE, HOUR, 6 * HOUR, DAY, 3 * DAY, 7 * DAY, 31 * DAY];
const PARTS = 60;
const BAR_WIDTH = 10;
const GAP = 1;
const HEIGHT = 40;
/** A single request among many stays visible. */
const LOWEST = 3;
const MOMENTS = 4;

/** What to ask for; undefined where there is nothing to draw. */
export function pulseQuery(
  query: ProfileQuery,
  rows: readonly ProfileIndex[],
  now: number,
): NonNullable<SurveyQuery['pulse']> | undefined {
  if (rows.length === 0 || query.text !== undefined) return undefined;
  const end = Math.min(query.until ?? now, now);
  const oldest = Math.min(...rows.map(({ startedAt }) => startedAt));
  const span =
    query.from === undefined
      ? (SPANS.find((length) => end - length <= oldest) ?? end - oldest)
      : Math.max(MINUTE, end - query.from);
  const stepMs = Math.ceil(span / PARTS);
  // On a grid, so that a bar does not change while nothing happens in it.
  const until = (Math.floor(end / stepMs) + 1) * stepMs;
  return { query, from: until - PARTS * stepMs, until, parts: PARTS };
}

function pathOf(heights: readonly number[]): string {
  return heights
    .map((height, i) =>
      height === 0
        ? ''
        : `M${i * BAR_WIDTH} ${HEIGHT}v-${Math.round(height)}h${BAR_WIDTH - GAP}v${Math.round(height)}z`,
    )
    .join('');
}

export function createPulse(
  asked: NonNullable<SurveyQuery['pulse']>,
  pulse: Survey['pulse'],
): PulseModel | null {
  if (pulse === null) return null;
  const { from, until, parts } = asked;
  const most = Math.max(1, ...pulse.parts.map(({ count }) => count));
  const heightOf = (count: number): number =>
    count === 0 ? 0 : Math.max(LOWEST, Math.round((count / most) * HEIGHT));
  const sum = (of: 'count' | 'errors'): number => pulse.parts.reduce((total, part) => total + part[of], 0);
  return {
    width: parts * BAR_WIDTH,
    height: HEIGHT,
    all: pathOf(pulse.parts.map(({ count }) => heightOf(count))),
    failed: pathOf(pulse.parts.map(({ errors }) => heightOf(errors))),
    moments: Array.from(
      { length: MOMENTS },
      (_, i) => from + Math.round(((until - from) * i) / (MOMENTS - 1)),
    ),
    count: sum('count'),
    errors: sum('errors'),
    most,
    stepMs: Math.ceil((until - from) / parts),
    since: pulse.since > from ? pulse.since : null,
  };
}
