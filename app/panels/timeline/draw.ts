/**
 * The timeline page: a part of the axis, and spans filtered by duration, kind and text; the rest is counted. The work of requests that
 * this one made stands below the calls that made them.
 */
import { endOf, SPAN_KINDS, type SpanKind } from '../../profiler/read/span.ts';
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
import { type BrowserView, browserView, isDocument } from './browser.ts';
import { foldByParent, type ListedSpan, loopRows, type TimelineRow } from '../shared/span-rows.ts';
import type { Profile } from '../../profiler/profile.ts';

/** Where the called request began, on the axis of this one: as the clocks say, if that is within its call, else in the middle. */
function startWithin(call: Span, { startedAt }: Profile, called: Profile, durationMs: number): number {
  const restMs = Math.max(0, call.durationMs - durationMs);
  const sinceCallMs = called.startedAt - startedAt - call.startMs;
  // Wall clocks are read to the millisecond.
  const isWithin = sinceCallMs >= -1 && sinceCallMs <= restMs + 1;
  return call.startMs + (isWithin ? Math.min(restMs, Math.max(0, sinceCallMs)) : restMs / 2);
}

function spansBelow(call: Span, at: number, profile: Profile, called: Profile): Span[] {
  const { spans = [], totalMs = 0 } = (called.panels.timeline?.data ?? {}) as Partial<TimelineData>;
  const startMs = startWithin(call, profile, called, totalMs);
  const indexes = new Map<number, number>();
  const own = spans.filter(({ panel, outside }, index) => {
    if (panel === 'runtime' || outside === true) return false;
    indexes.set(index, at + 1 + indexes.size);
    return true;
  });
  return own.map((span): Span => ({
    ...span,
    startMs: startMs + span.startMs,
    depth: call.depth + 1 + span.depth,
    parent: span.parent === null ? at : (indexes.get(span.parent) ?? at),
    ...(span.parts === undefined
      ? {}
      : { parts: span.parts.map((part) => ({ ...part, startMs: startMs + part.startMs })) }),
    ...(span.parent === null ? { token: called.token } : {}),
    inProfile: called.token,
  }));
}

/** `called`: by the id of the call's row. */
function withCalled(
  data: TimelineData,
  profile: Profile,
  called: ReadonlyMap<string, Profile> = new Map(),
): TimelineData {
  if (called.size === 0) return data;
  const spans: Span[] = [];
  const indexes: number[] = [];
  for (const span of data.spans) {
    const at = spans.length;
    indexes.push(at);
    const own = { ...span, parent: span.parent === null ? null : (indexes[span.parent] ?? null) };
    const request = span.panel === 'http_client' ? called.get(span.anchor ?? '') : undefined;
    const below = request === undefined ? [] : spansBelow(own, at, profile, request);
    const [root] = below;
    // What is left is the network and queues.
    if (root !== undefined) own.selfMs = Math.max(0, endOf(own) - own.startMs - root.durationMs);
    spans.push(own, ...below);
  }
  return { ...data, spans };
}

/** What the form can hide: kinds by the name of their filter. */
const FILTERS = [
  ...new Map((Object.keys(SPAN_KINDS) as SpanKind[]).map((kind) => [filterName(kind), kind])),
].map(([name, kind]) => ({ name, label: SPAN_KINDS[kind].filter }));

/** Their filter is shown if there are any. */
const RARE: readonly SpanKind[] = ['cache', 'work'];
const SHORTEST_SHOWN = 0.1;
/** With more rows, spans of one kind are folded: nobody reads them one by one. */
const ROWS_UNFOLDED = 200;
const LINES_SHOWN = 40;

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

function isInside(spans: readonly Span[], index: number, root: number): boolean {
  let at: number | null = index;
  while (at !== null && at !== root) at = spans[at]?.parent ?? null;
  return at === root;
}

interface Wanted {
  over: number;
  find: string;
  sent: boolean;
  filters: ((typeof FILTERS)[number] & { on: boolean })[];
  open: number | null;
}

function wantedOf({ spans }: TimelineData, query: PanelPage['query']): Wanted {
  const given = Number(query.over ?? SHORTEST_SHOWN);
  // No checkbox means that all are empty only if the form was submitted.
  const sent = query.shown === '1';
  const open = /^s(\d{1,5})$/.exec(query.open ?? '')?.[1];
  return {
    over: Number.isFinite(given) && given >= 0 ? given : SHORTEST_SHOWN,
    find: findOf(query),
    sent,
    filters: FILTERS.filter(
      ({ name }) =>
        !RARE.some((kind) => filterName(kind) === name) ||
        spans.some(({ kind }) => filterName(kind) === name),
    ).map((filter) => ({ ...filter, on: !sent || query[filter.name] !== undefined })),
    open: open !== undefined && Number(open) > 0 && Number(open) < spans.length ? Number(open) : null,
  };
}

/** Spans that match the form, and how many are hidden for which reason. */
function choose({ spans }: TimelineData, { filters, find, open }: Wanted, { fromMs, toMs }: Axis) {
  const off = new Set(filters.filter(({ on }) => !on).map(({ name }) => name));
  const text = find.toLowerCase();
  let outside = 0;
  let filtered = 0;
  const kept = new Set<number>();
  spans.forEach((span, index) => {
    const mine = open === null || isInside(spans, index, open);
    if (index > 0 && (!mine || span.startMs > toMs || endOf(span) < fromMs)) outside++;
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

function linesOf({ members }: TimelineRow, most: number) {
  const longest = [...members].sort((a, b) => b.span.durationMs - a.span.durationMs).slice(0, most);
  return longest.map(({ span }) => ({ span, href: spanHref(span) }));
}

export function drawTimeline(own: TimelineData, { profile, query, amendments, called }: PanelPage) {
  const data = withCalled(own, profile, called);
  const { spans } = data;
  const wanted = wantedOf(data, query);
  const { over, find, sent, filters, open } = wanted;
  const axis = axisOf(data, query);
  const { lengthMs } = axis;
  const { listed, outside, filtered, found } = choose(data, wanted, axis);
  const all = loopRows(listed, lengthMs);
  const single = longEnough(all, over, spans);
  const isFolded = single.length > ROWS_UNFOLDED && open === null && query.all !== '1';
  const folded = isFolded ? foldByParent(single, lengthMs) : single;
  const folds = folded.filter(({ grouped }) => grouped === 'kind').length;

  const kept = Object.fromEntries(filters.filter(({ on }) => sent && on).map(({ name }) => [name, '1']));
  const zoom: Record<string, number> = axis.zoomed ? { from: ms(axis.fromMs), to: ms(axis.toMs) } : {};
  const link = (changes: Record<string, string | number | null>): string =>
    addressOf('timeline', {
      over: over === SHORTEST_SHOWN ? null : over,
      find,
      shown: sent ? '1' : null,
      ...kept,
      ...zoom,
      open: open === null ? null : `s${open}`,
      ...changes,
    });
  const isParent = new Set(spans.map(({ parent }) => parent));

  const rows = firstRows(folded, query).map((row) => {
    const { span, count, grouped } = row;
    const { one, many } = SPAN_KINDS[span.kind] ?? SPAN_KINDS.work;
    const times = numberHelpers.count(count);
    const zoomable =
      grouped === 'no' && isParent.has(row.members[0]?.index ?? -1) && span.durationMs < lengthMs * 0.8;
    return {
      ...row,
      noun: one,
      isWait: SPAN_KINDS[span.kind]?.filter === 'Waits',
      failed: row.members.find((member) => member.span.failed !== undefined)?.span.failed ?? null,
      label: grouped === 'kind' ? `${times} ${many}` : count > 1 ? `${times} × ${span.label}` : span.label,
      href: grouped === 'kind' ? null : spanHref(span),
      /** Drawn thin: most of its time is in rows below it. */
      outer: isOfLayer(span) && grouped === 'no' && isParent.has(row.members[0]?.index ?? -1),
      lines: grouped === 'kind' ? linesOf(row, LINES_SHOWN) : [],
      openHref: grouped === 'kind' && span.parent !== null ? link({ open: `s${span.parent}` }) : null,
      zoomHref:
        zoomable && span.durationMs > 0 ? link({ from: ms(span.startMs), to: ms(endOf(span)) }) : null,
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
    total: folded.length,
    zoomHref: link({}),
    wholeHref: link({ from: null, to: null, open: null }),
    opened: open === null ? null : (spans[open]?.label ?? null),
    openId: open === null ? null : `s${open}`,
    allHref: link({ all: 1 }),
    clearHref: addressOf('timeline', {}),
    folds,
    spans: spans.length,
    /** Work of called requests is among them. */
    hasCalled: spans.length > own.spans.length,
    found,
    outside,
    short: all.length - single.length,
    shortHref: link({ over: 0 }),
    filtered,
  };
}

function ms(value: number): number {
  return Math.round(value * 100) / 100;
}
