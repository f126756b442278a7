/** A comparison -> the view model of its page. */
import type { Profile } from '../../profiler/profile.ts';
import { barsOf, type TimeBar } from '../../view-helpers/time-bars.ts';
import { SPAN_KINDS } from '../../profiler/span.ts';
import { urls } from '../../urls.ts';
import type { FoundProfile } from '../../profiler/profiles.ts';
import { rowsPage } from '../../render/rows-page.ts';
import { type Comparison, findingChanges, verdictOf } from './compare-profiles.ts';
import { NEWEST } from './compare-query.ts';
import { comparisonSections } from './compare-rows.ts';
import { type ReplayMark, replayMarkOf } from './replay-profile.ts';
import { summarizeComparison } from './compare-summary.ts';

/** The drawing's coordinates; the page stretches it. */
const WIDTH = 1000;
const TIMELINE_BOX = `0 0 ${WIDTH} 10`;
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
function timelineDrawing(profile: Profile, scaleMs: number) {
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

function scaleOf(profiles: readonly Profile[]): number {
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

export function createCompareModel(options: {
  a: FoundProfile;
  b: FoundProfile;
  comparison: Comparison;
  query: Readonly<Record<string, string>>;
  all: boolean;
  selected: number;
  canSample: boolean;
  csrf: string | null;
}) {
  const { comparison, all, selected, csrf } = options;
  const [a, b] = [options.a.profile, options.b.profile];
  const pair = { a: a.token, b: b.token };
  const scaleMs = scaleOf([a, b]);
  const side = (name: 'A' | 'B', profile: Profile) => ({
    name,
    profile,
    timeline: timelineDrawing(profile, scaleMs),
  });
  const sides = [side('A', a), side('B', b)];
  const kinds = new Set(sides.flatMap(({ timeline }) => timeline?.paths.map(({ kind }) => kind) ?? []));
  const repeated = repetitionOf(options.a, options.b);
  const changes = findingChanges(comparison.findings, repeated?.by ?? null);
  return {
    headline: repeated === null ? 'Compare two profiles' : verdictOf(changes),
    changes,
    title: `${a.token} and ${b.token} compared`,
    sides,
    summary: summarizeComparison(a, b, comparison.figures),
    scaleMs,
    timelineBox: TIMELINE_BOX,
    kinds: [...kinds],
    names: Object.fromEntries(Object.entries(SPAN_KINDS).map(([kind, { label }]) => [kind, label])),
    rows: rowsPage(
      { sections: comparisonSections(comparison, all) },
      { page: { ...pair, ...(all ? { all: '1' } : {}) }, query: options.query },
    ),
    failed: comparison.failed,
    hasUnchanged: comparison.work.some(({ rows }) => rows.some(({ unchanged }) => unchanged)),
    /** Set if one of them is the other, sent again. */
    repeated,
    /** The one that was sent again can be sampled. */
    canSample: options.canSample,
    /** Signature of the form that sends the first request once more; null: nothing is sent again. */
    csrf,
    all,
    /** Requests that were selected; above two, the newest two are compared. */
    selected,
    links: {
      swap: urls.compare({ a: b.token, b: a.token }),
      all: urls.compare({ ...pair, all: all ? undefined : 1 }),
      json: urls.compareJson(pair),
      markdown: urls.compareMarkdown(pair),
      newest: b.route === null ? null : urls.compare({ a: b.token, b: NEWEST }),
    },
  };
}
