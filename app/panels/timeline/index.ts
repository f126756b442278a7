/**
 * The timeline: middleware, queries, calls, views and waits on one axis. It stores nothing: it is derived from the spans of all panels
 * when a profile is read. The page adds thresholds, folds and zoom (draw.ts).
 */
import type { Panel, RecordReader } from '../../profiler/panel.ts';
import type { Profile } from '../../profiler/profile.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { shorten, type SpanDraft } from '../../profiler/span.ts';
import { headersAtOf, layersOf } from '../shared/kept-panels.ts';
import { round } from '../shared/rows.ts';
import type { Share, TimelineData } from '../shared/timeline-data.ts';
import { drawTimeline } from './draw.ts';
import { idleGaps } from './idle-gaps.ts';
import { busyTimes, layerDrafts } from './layers.ts';
import { presentTimeline } from './present.ts';
import { sharesOf } from './shares.ts';
import { spansOf } from './tree.ts';

/** A request that still runs ends with its last recorded work. */
function totalOf(profile: Profile): number {
  const runtime = profile.panels.runtime?.data as { durationMs?: number } | null | undefined;
  return profile.durationMs ?? runtime?.durationMs ?? headersAtOf(profile) ?? 0;
}

function dataOf({ profile, spans }: RecordReader): TimelineData {
  const totalMs = totalOf(profile);
  const headersMs = headersAtOf(profile);
  const ran = layersOf(profile);
  const layers = layerDrafts(ran, totalMs);
  const work = spans(totalMs);
  // Without middleware, it is unknown when own code ran.
  const idle =
    ran.length === 0
      ? []
      : idleGaps([...work.flatMap((draft) => draft.pieces ?? [draft]), ...busyTimes(ran)], {
          totalMs,
          headersMs,
          layers,
        });
  const line = profile.method === '' ? 'request' : `${profile.method} ${profile.url.replace(/\?.*$/s, '')}`;
  const root: SpanDraft = {
    kind: 'app',
    label: shorten(line, 200),
    startMs: 0,
    durationMs: totalMs,
    panel: 'request',
  };
  const others = [...work, ...idle];
  let shares: Share[] | null = null;
  return {
    totalMs: round(totalMs),
    headersMs: headersMs === null ? null : round(headersMs),
    spans: spansOf({ root, layers, others, answeredMs: profile.durationMs }),
    // Every page shows the spans; few need the shares.
    get shares() {
      shares ??= sharesOf(others, totalMs);
      return shares;
    },
  };
}

export const timelinePanel: Panel<TimelineData> = {
  name: 'timeline',
  title: 'Timeline',
  menu: {
    key: 't',
    rank: 0,
    summary: ({ totalMs }) => ({ text: numberHelpers.durationText(totalMs), tone: 'plain' }),
  },
  recorded: { nothing: { what: 'No time was recorded.' } },
  data: dataOf,
  rows: presentTimeline,
  view: { showsCalled: true, model: drawTimeline },
};
