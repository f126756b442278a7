/** Two requests drawn on one scale, and whether one of them is the other, sent again. */
import type { Profile } from '../../profiler/profile.ts';
import { barsOf, type TimeBar } from '../../view-helpers/time-bars.ts';
import type { FoundProfile } from '../../profiler/profiles.ts';
import { type ReplayMark, replayMarkOf } from './replay-profile.ts';

/** The drawing's coordinates; the page stretches it. */
const WIDTH = 1000;
export const TIMELINE_BOX = `0 0 ${WIDTH} 10`;
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

/** A request's timeline as SVG paths, one per kind of work, so that two requests can be drawn on one scale; null if its duration is unknown. */
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

export function scaleOf(profiles: readonly Profile[]): number {
  return Math.max(0, ...profiles.map((profile) => profile.durationMs ?? timelineOf(profile)?.totalMs ?? 0));
}

export function repetitionOf(a: FoundProfile, b: FoundProfile): (ReplayMark & { by: 'A' | 'B' }) | null {
  for (const [by, one, other] of [
    ['B', b, a],
    ['A', a, b],
  ] as const) {
    const mark = replayMarkOf(one.amendments);
    if (mark?.of === other.profile.token) return { ...mark, by };
  }
  return null;
}
