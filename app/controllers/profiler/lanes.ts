/** Two requests drawn on one scale: the bars of their strips as one path for each kind of work, without inline style. */
import type { Profile } from '../../profiler/profile.ts';
import { type StripBar, stripBars } from '../../view-helpers/strip.ts';

export interface Lane {
  /** Kinds that stand in it, with their path. */
  paths: { kind: string; d: string }[];
  /** Own code, as long as the request. */
  ground: string;
  totalMs: number;
}

/** The drawing's own coordinates; it is stretched to its place. */
const WIDTH = 1000;
export const LANE_BOX = `0 0 ${WIDTH} 10`;
/** What has happened is seen, however short it was. */
const LEAST = 0.8;

interface Timeline {
  totalMs: number;
  spans: StripBar[];
}

function timelineOf({ panels }: Profile): Timeline | null {
  const data = panels.timeline?.data as Partial<Timeline> | null | undefined;
  return typeof data?.totalMs === 'number' && Array.isArray(data.spans)
    ? { totalMs: data.totalMs, spans: data.spans }
    : null;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** null where nothing is known of its time. */
export function laneOf(profile: Profile, scaleMs: number): Lane | null {
  const timeline = timelineOf(profile);
  const totalMs = profile.durationMs ?? timeline?.totalMs ?? null;
  if (totalMs === null || scaleMs <= 0) return null;
  const at = (ms: number): number => round((Math.max(0, ms) / scaleMs) * WIDTH);
  const paths = new Map<string, string>();
  for (const { kind, startMs, durationMs } of stripBars(timeline?.spans ?? [], totalMs)) {
    if (startMs >= totalMs) continue;
    const long = Math.max(LEAST, at(Math.min(durationMs, totalMs - startMs)));
    paths.set(kind, `${paths.get(kind) ?? ''}M${at(startMs)} 1h${long}v8h-${long}z`);
  }
  return {
    paths: Array.from(paths, ([kind, d]) => ({ kind, d })),
    ground: `M0 4.6h${Math.max(LEAST, at(totalMs))}v.8h-${Math.max(LEAST, at(totalMs))}z`,
    totalMs,
  };
}

/** The longer of both. */
export function scaleOf(profiles: readonly Profile[]): number {
  return Math.max(0, ...profiles.map((profile) => profile.durationMs ?? timelineOf(profile)?.totalMs ?? 0));
}
