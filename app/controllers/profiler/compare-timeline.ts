/** A request's timeline as SVG paths, one per kind of work, so that two requests can be drawn on one scale. */
import type { Profile } from '../../profiler/profile.ts';
import { barsOf, type TimeBar } from '../../view-helpers/time-bars.ts';

/** The drawing's coordinates; the page stretches it. */
const WIDTH = 1000;
export const TIMELINE_BOX = `0 0 ${WIDTH} 10`;
/** Drawn as the ground. */
const OWN_CODE = new Set(['app', 'middleware']);
/** Even the shortest span stays visible. */
const LEAST = 0.8;

interface Timeline {
  totalMs: number;
  slices: TimeBar[];
}

function timelineOf({ panels }: Profile): Timeline | null {
  const data = panels.timeline?.data as Partial<Timeline> | null | undefined;
  return typeof data?.totalMs === 'number' && Array.isArray(data.slices)
    ? { totalMs: data.totalMs, slices: data.slices }
    : null;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** null if its duration is unknown. */
export function timelineDrawing(profile: Profile, scaleMs: number) {
  const timeline = timelineOf(profile);
  const totalMs = profile.durationMs ?? timeline?.totalMs ?? null;
  if (totalMs === null || scaleMs <= 0) return null;
  const at = (ms: number): number => round((Math.max(0, ms) / scaleMs) * WIDTH);
  const paths = new Map<string, string>();
  for (const { kind, startMs, durationMs } of barsOf(timeline?.slices ?? [], totalMs)) {
    if (startMs >= totalMs || OWN_CODE.has(kind)) continue;
    const width = Math.max(LEAST, at(Math.min(durationMs, totalMs - startMs)));
    paths.set(kind, `${paths.get(kind) ?? ''}M${at(startMs)} 1h${width}v8h-${width}z`);
  }
  return {
    /** One path per kind of work. */
    paths: Array.from(paths, ([kind, d]) => ({ kind, d })),
    /** Own code, as long as the whole request. */
    ground: `M0 4.6h${Math.max(LEAST, at(totalMs))}v.8h-${Math.max(LEAST, at(totalMs))}z`,
    totalMs,
  };
}

/** The longest of them. */
export function scaleOf(profiles: readonly Profile[]): number {
  return Math.max(0, ...profiles.map((profile) => profile.durationMs ?? timelineOf(profile)?.totalMs ?? 0));
}
