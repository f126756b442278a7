/**
 * The panel of time: layers, queries, calls, views and waits on one axis.
 *
 * Nothing is stored for it: what the other panels kept -> `spans` as they ran inside of each other. The strip at the head
 * of each profile is drawn from the same data. What a span is worth is shown, not hidden: thresholds, folds and zoom are
 * made when the page is asked for (`timeline/page.ts`).
 */
import type { Panel } from '../../profiler/panel.ts';
import type { Profile } from '../../profiler/profile.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { headersAtOf, layersOf, runtimeOf } from '../shared/kept-panels.ts';
import { round } from '../shared/rows.ts';
import { comparableTimeline } from './comparable.ts';
import { betweenDrafts } from './between.ts';
import { busyTimes, layerDrafts } from './layers.ts';
import { presentTimeline } from './page.ts';
import { type Share, sharesOf } from './shares.ts';
import { type Draft, shorten, type Span } from './spans.ts';
import { spansOf } from './tree.ts';
import { workDrafts } from './work.ts';

export interface TimelineData {
  totalMs: number;
  /** When the headers went out; null before. */
  headersMs: number | null;
  /** The request itself, then what ran inside of it; a span stands before what ran inside of it. */
  spans: Span[];
  shares: Share[];
}

const MINUTE = 60_000;
const SWITCHING = 101;

/** The whole of a request that still runs is not known: to the last that was seen of it. */
function totalOf(profile: Profile): number {
  return profile.durationMs ?? runtimeOf(profile)?.durationMs ?? headersAtOf(profile) ?? 0;
}

/** A connection that was upgraded is open, and waits for messages; no code runs for it. */
function restOf({ status }: Profile, rest: Share): Share {
  return status === SWITCHING ? { ...rest, kind: 'wait', label: 'Open, waiting' } : rest;
}

function derive(profile: Profile): TimelineData {
  const totalMs = totalOf(profile);
  const headersMs = headersAtOf(profile);
  const ran = layersOf(profile);
  const layers = layerDrafts(ran, totalMs);
  const work = workDrafts(profile, totalMs);
  // Without a layer nothing tells when own code ran.
  const between =
    ran.length === 0 ? [] : betweenDrafts([...work, ...busyTimes(ran)], { totalMs, headersMs, layers });
  const line = profile.method === '' ? 'request' : `${profile.method} ${profile.url.replace(/\?.*$/s, '')}`;
  const root: Draft = {
    kind: 'app',
    label: shorten(line, 200),
    startMs: 0,
    durationMs: totalMs,
    panel: 'request',
  };
  const others = [...work, ...between];
  let shares: Share[] | null = null;
  return {
    totalMs: round(totalMs),
    headersMs: headersMs === null ? null : round(headersMs),
    spans: spansOf({ root, layers, others, answeredMs: profile.durationMs }),
    // The head of each page shows the spans, few ask for the shares.
    get shares() {
      shares ??= sharesOf(others, totalMs).map((share) =>
        share.kind === 'app' ? restOf(profile, share) : share,
      );
      return shares;
    },
  };
}

function timeText(ms: number): string {
  if (ms >= MINUTE) return numberHelpers.durationText(ms);
  if (ms >= 1000) return `${(ms / 1000).toFixed(2)} s`;
  return ms >= 99.95 ? `${Math.round(ms)} ms` : `${ms.toFixed(1)} ms`;
}

export function createTimelinePanel(): Panel<TimelineData, null> {
  return {
    name: 'timeline',
    title: 'Timeline',
    key: 't',
    toolbar: { rank: 0 },
    comparable: comparableTimeline,
    collect: () => null,
    derive: (_kept, { profile }) => derive(profile),
    summary: ({ totalMs }) => ({ text: timeText(totalMs), tone: 'plain' }),
    draw: presentTimeline,
    preview: ({ shares }) => ({
      facts: shares.map(({ label, ms }) => [label, timeText(ms)]),
      parts: shares.map(({ kind, label, ms }) => ({ kind, label, ms })),
    }),
  };
}
