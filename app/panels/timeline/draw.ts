/** The timeline page: a part of the axis, and spans filtered by duration, kind and text; the rest is counted. */
import { endOf, SPAN_KINDS, type SpanKind } from '../../profiler/span.ts';
import {
  filterName,
  isOfLayer,
  legendOf,
  outsideTexts,
  type Span,
  spanHref,
  type TimelineData,
} from '../shared/timeline-data.ts';
import type { PanelPage } from '../../profiler/panel.ts';
import { addressOf, findOf, firstRows } from '../../render/rows-page.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { type Axis, axisOf } from '../shared/time-axis.ts';
import { withCalled } from './called.ts';
import { type BrowserView, browserView, isDocument } from './browser.ts';
import { type ListedSpan, loopRows, type TimelineRow } from '../shared/span-rows.ts';

/** What the form can hide: kinds by the name of their filter. */
const FILTERS = [
  ...new Map((Object.keys(SPAN_KINDS) as SpanKind[]).map((kind) => [filterName(kind), kind])),
].map(([name, kind]) => ({ name, label: SPAN_KINDS[kind].filter }));

const SHORTEST_SHOWN = 0.1;

function withAncestors(spans: readonly Span[], kept: ReadonlySet<number>): Set<number> {
  const all = new Set(kept);
  for (const index of kept) {
    let above = spans[index]?.parent ?? null;
    while (above !== null && !all.has(above)) {
      all.add(above);
      above = spans[above]?.parent ?? null;
    }
  }
  return all;
}

interface Wanted {
  over: number;
  find: string;
  sent: boolean;
  filters: ((typeof FILTERS)[number] & { on: boolean })[];
}

function wantedOf({ spans }: TimelineData, query: PanelPage['query']): Wanted {
  const given = Number(query.over ?? SHORTEST_SHOWN);
  // No checkbox means that all are empty only if the form was submitted.
  const sent = query.shown === '1';
  return {
    over: Number.isFinite(given) && given >= 0 ? given : SHORTEST_SHOWN,
    find: findOf(query),
    sent,
    filters: FILTERS.filter(
      ({ name }) => name !== filterName('work') || spans.some(({ kind }) => kind === 'work'),
    ).map((filter) => ({ ...filter, on: !sent || query[filter.name] !== undefined })),
  };
}

/** Spans that match the form, and how many are hidden for which reason. */
function choose({ spans }: TimelineData, { filters, find }: Wanted, { fromMs, toMs }: Axis) {
  const off = new Set(filters.filter(({ on }) => !on).map(({ name }) => name));
  const text = find.toLowerCase();
  let outside = 0;
  let filtered = 0;
  const kept = new Set<number>();
  spans.forEach((span, index) => {
    if (index > 0 && (span.startMs > toMs || endOf(span) < fromMs)) outside++;
    else if (index > 0 && (off.has(filterName(span.kind)) || !span.label.toLowerCase().includes(text)))
      filtered++;
    else if (index > 0 || text === '' || span.label.toLowerCase().includes(text)) kept.add(index);
  });
  const shown = withAncestors(spans, kept);
  const listed = spans.flatMap((span, index): ListedSpan[] => (shown.has(index) ? [{ span, index }] : []));
  return { listed, outside, filtered, found: kept.size };
}

function longEnough(rows: readonly TimelineRow[], over: number, spans: readonly Span[]): TimelineRow[] {
  const long = rows.filter(
    ({ busyMs, id, members }) =>
      id === 's0' || busyMs >= over || members.some(({ span }) => span.failed !== undefined),
  );
  const indexes = new Set(long.flatMap(({ members }) => members.map(({ index }) => index)));
  const kept = withAncestors(spans, indexes);
  return rows.filter(({ members }) => members.some(({ index }) => kept.has(index)));
}

export function drawTimeline(own: TimelineData, { profile, query, amendments, called }: PanelPage) {
  const data = withCalled(own, profile, called);
  const { spans } = data;
  const wanted = wantedOf(data, query);
  const { over, find, sent, filters } = wanted;
  const axis = axisOf(data, query);
  const { lengthMs } = axis;
  const { listed, outside, filtered, found } = choose(data, wanted, axis);
  const all = loopRows(listed, lengthMs);
  const long = longEnough(all, over, spans);

  const kept = Object.fromEntries(filters.filter(({ on }) => sent && on).map(({ name }) => [name, '1']));
  const zoom: Record<string, number> = axis.zoomed ? { from: ms(axis.fromMs), to: ms(axis.toMs) } : {};
  const link = (changes: Record<string, string | number | null>): string =>
    addressOf('timeline', {
      over: over === SHORTEST_SHOWN ? null : over,
      find,
      shown: sent ? '1' : null,
      ...kept,
      ...zoom,
      ...changes,
    });
  const isParent = new Set(spans.map(({ parent }) => parent));

  const rows = firstRows(long, query).map((row) => {
    const { span, count } = row;
    const holdsOthers = count === 1 && isParent.has(row.members[0]?.index ?? -1);
    const zoomable = holdsOthers && span.durationMs > 0 && span.durationMs < lengthMs * 0.8;
    return {
      ...row,
      noun: (SPAN_KINDS[span.kind] ?? SPAN_KINDS.work).one,
      isWait: SPAN_KINDS[span.kind]?.filter === 'Waits',
      failed: row.members.find((member) => member.span.failed !== undefined)?.span.failed ?? null,
      label: count > 1 ? `${numberHelpers.count(count)} × ${span.label}` : span.label,
      href: spanHref(span),
      /** Drawn thin: most of its time is in rows below it. */
      outer: isOfLayer(span) && holdsOthers,
      zoomHref: zoomable ? link({ from: ms(span.startMs), to: ms(endOf(span)) }) : null,
    };
  });
  const browser: BrowserView | null = browserView(data, amendments.timing);
  return {
    shares: legendOf(data),
    notCounted: outsideTexts(own),
    browser,
    /** A browser could have sent timings, and did not. */
    unmeasured: browser === null && isDocument(profile),
    over,
    find,
    filters,
    axis,
    rows,
    total: long.length,
    zoomHref: link({}),
    wholeHref: link({ from: null, to: null }),
    allHref: link({ all: 1 }),
    clearHref: addressOf('timeline', {}),
    spans: spans.length,
    /** Work of called requests is among them. */
    hasCalled: spans.length > own.spans.length,
    found,
    outside,
    short: all.length - long.length,
    shortHref: link({ over: 0 }),
    filtered,
  };
}

function ms(value: number): number {
  return Math.round(value * 100) / 100;
}
