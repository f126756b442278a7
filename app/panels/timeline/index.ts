/**
 * The timeline: middleware, queries, calls, views and waits on one axis, and who owned the time. It stores nothing: it is the ledger of
 * time as pages read it. The page adds thresholds, folds and zoom (draw.ts).
 */
import type { Panel, RecordReader } from '../../profiler/panel.ts';
import { durationText } from '../../view-helpers/numbers.ts';
import { SPAN_KINDS, shorten, type SpanDraft, type SpanPart, round } from '../../profiler/read/span.ts';
import type { TimeLedger } from '../../profiler/read/time-ledger.ts';
import type { TimelineData } from '../shared/timeline-data.ts';
import { drawTimeline } from './draw.ts';
import { presentTimeline } from './present.ts';
import { spansOf } from './tree.ts';

function slicesOf({ slices }: TimeLedger): SpanPart[] {
  const joined: SpanPart[] = [];
  for (const { kind, startMs, durationMs } of slices) {
    const last = joined.at(-1);
    if (last?.kind === kind) last.durationMs = round(startMs + durationMs - last.startMs);
    else joined.push({ kind, startMs: round(startMs), durationMs: round(durationMs) });
  }
  return joined;
}

function dataOf({ profile, time }: RecordReader): TimelineData {
  const { totalMs, headersMs, shares } = time;
  const line = profile.method === '' ? 'request' : `${profile.method} ${profile.url.replace(/\?.*$/s, '')}`;
  const root: SpanDraft = {
    kind: 'app',
    label: shorten(line, 200),
    startMs: 0,
    durationMs: totalMs,
    panel: 'request',
  };
  return {
    totalMs: round(totalMs),
    headersMs: headersMs === null ? null : round(headersMs),
    spans: spansOf({ root, time, answeredMs: profile.durationMs }),
    slices: slicesOf(time),
    shares: shares
      .filter(({ ms }) => ms > 0)
      .map((share) => ({ ...share, label: SPAN_KINDS[share.kind].label })),
  };
}

export const timelinePanel: Panel<TimelineData> = {
  name: 'timeline',
  title: 'Timeline',
  menu: {
    key: 't',
    rank: 0,
    summary: ({ totalMs }) => ({ text: durationText(totalMs), tone: 'plain' }),
  },
  recorded: { nothing: { what: 'No time was recorded.' } },
  data: dataOf,
  rows: presentTimeline,
  view: { showsCalled: true, model: drawTimeline },
};
