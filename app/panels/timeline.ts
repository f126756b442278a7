/**
 * The panel of time: layers, queries, calls, views and waits on one axis.
 *
 * Nothing is stored for it: what the other panels kept -> `spans` in the order of their start, nested by the layer that
 * ran when they began. The strip at the head of each profile is drawn from the same data. What a span is worth is shown,
 * not hidden: thresholds and folds are made when the page is asked for (`timeline-page.ts`).
 */
import type { Panel } from '../profiler/panel.ts';
import type { Profile } from '../profiler/profile.ts';
import { callsOf, databaseOf, headersAtOf, layersOf, runtimeOf, viewsOf } from './shared/kept-panels.ts';
import type { RanLayer } from './shared/layer-rows.ts';
import { round } from './shared/rows.ts';
import { presentTimeline } from './timeline-page.ts';

export type SpanKind = 'app' | 'db' | 'out' | 'view' | 'wait';

export interface Span {
  kind: SpanKind;
  label: string;
  startMs: number;
  /** To the end of the answer where it still runs. */
  durationMs: number;
  /** 0 for the request itself. */
  depth: number;
  /** Where the row that proves it stands; layers stand in the routing panel. Left out where there is none. */
  panel?: string;
  anchor?: string;
  /** It began after the answer was over. Left out where it did not: most spans of most profiles. */
  after?: true;
}

/** Where the time went: each millisecond counted once, for the first of its kinds in the order of `SHARES`. */
export interface Share {
  kind: SpanKind;
  label: string;
  ms: number;
}

export interface TimelineData {
  totalMs: number;
  /** When the headers went out; null before. */
  headersMs: number | null;
  spans: Span[];
  shares: Share[];
}

type Part = Omit<Span, 'depth' | 'after'> & { below: number; pool?: boolean };

/** Waits shorter than this are part of what they wait for. */
const SHORTEST_WAIT = 1;

function endOf(layer: RanLayer, totalMs: number): number {
  const own = layer.settledMs ?? layer.durationMs;
  if (layer.outcome === 'next' && layer.nextMs !== null) return layer.startMs + layer.nextMs;
  if (layer.outcome === 'threw' && own !== null) return layer.startMs + own;
  return Math.max(totalMs, layer.startMs + (own ?? 0));
}

function shorten(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

function labelOf({ name, kind, pattern, method }: RanLayer): string {
  if (kind === 'handler') return `${method ?? 'ALL'} ${pattern} ${name === '<anonymous>' ? '' : name}`.trim();
  if (kind === 'router') return `router ${pattern}`;
  return kind === 'middleware' || pattern === '/' ? name : `${name} ${pattern}`;
}

/** A router lasts as long as what runs in it. */
function layerSpans(
  layers: readonly RanLayer[],
  totalMs: number,
): (Part & { layer: RanLayer; end: number })[] {
  return layers.map((layer, index) => {
    let end = endOf(layer, totalMs);
    if (layer.kind === 'router') {
      for (const inner of layers.slice(index + 1)) {
        if (inner.depth <= layer.depth) break;
        end = Math.max(end, endOf(inner, totalMs));
      }
    }
    return {
      layer,
      end,
      kind: 'app',
      label: shorten(labelOf(layer), 200),
      startMs: layer.startMs,
      durationMs: end - layer.startMs,
      below: 0,
    };
  });
}

function queryParts(profile: Profile, totalMs: number): Part[] {
  const { queries, statements } = databaseOf(profile);
  return queries.flatMap((query, index): Part[] => {
    const { sql, label } = statements[query.statement] ?? { sql: '', label: '' };
    const anchor = query.group === null ? `q${index + 1}` : `g${query.group + 1}`;
    const place = { panel: 'database', anchor };
    const durationMs = query.durationMs ?? Math.max(0, totalMs - query.startMs);
    const part: Part = { kind: 'db', label, startMs: query.startMs, durationMs, ...place, below: 0 };
    if (query.waitMs < SHORTEST_WAIT) return [part];
    const waited = sql === '' ? query.waitMs : Math.min(query.waitMs, query.startMs);
    const from = sql === '' ? query.startMs : query.startMs - waited;
    const wait: Part = {
      kind: 'wait',
      label: 'waiting for a connection',
      startMs: from,
      durationMs: waited,
      ...place,
      below: 0,
      pool: true,
    };
    return sql === '' ? [wait] : [wait, part];
  });
}

/** `POST rates.example/v2/quote`: without scheme and query. */
function callLabel(method: string, url: string): string {
  const short = url.replace(/^[a-z]+:\/\//i, '').replace(/[?#].*$/s, '');
  return `${shorten(method, 20)} ${shorten(short, 80)}`;
}

function otherParts(profile: Profile, totalMs: number): Part[] {
  const open = (durationMs: number | null, startMs: number): number =>
    durationMs ?? Math.max(0, totalMs - startMs);
  const calls = callsOf(profile).map(({ method, url, startMs, durationMs }, index): Part => ({
    kind: 'out',
    label: callLabel(method, url),
    startMs,
    durationMs: open(durationMs, startMs),
    panel: 'http_client',
    anchor: `c${index + 1}`,
    below: 0,
  }));
  const views = viewsOf(profile).map(({ name, startMs, durationMs, depth }, index): Part => ({
    kind: 'view',
    label: name.slice(0, 120),
    startMs,
    durationMs: open(durationMs, startMs),
    panel: 'views',
    anchor: `v${index + 1}`,
    below: depth,
  }));
  const held = (runtimeOf(profile)?.held ?? []).map(({ startMs, durationMs }, index): Part => ({
    kind: 'wait',
    label: 'event loop held',
    startMs,
    durationMs,
    panel: 'runtime',
    anchor: `h${index + 1}`,
    below: 0,
  }));
  return [...calls, ...views, ...held];
}

const SHARES: readonly { kind: SpanKind; label: string; of: (part: Part) => boolean }[] = [
  { kind: 'wait', label: 'Event loop held', of: ({ kind, pool }) => kind === 'wait' && pool !== true },
  { kind: 'db', label: 'Database', of: ({ kind }) => kind === 'db' },
  { kind: 'out', label: 'Outgoing calls', of: ({ kind }) => kind === 'out' },
  { kind: 'view', label: 'Views', of: ({ kind }) => kind === 'view' },
  { kind: 'wait', label: 'Waiting for the pool', of: ({ pool }) => pool === true },
];

/** One sweep over begins and ends; what no part covers is own code. */
function sharesOf(parts: readonly Part[], totalMs: number): Share[] {
  const edges: { at: number; share: number; step: 1 | -1 }[] = [];
  for (const part of parts) {
    const share = SHARES.findIndex(({ of }) => of(part));
    const from = Math.min(totalMs, Math.max(0, part.startMs));
    const to = Math.min(totalMs, part.startMs + part.durationMs);
    if (share !== -1 && to > from) edges.push({ at: from, share, step: 1 }, { at: to, share, step: -1 });
  }
  edges.sort((a, b) => a.at - b.at);
  const running = SHARES.map(() => 0);
  const spent = SHARES.map(() => 0);
  let last = 0;
  for (const { at, share, step } of edges) {
    const now = running.findIndex((count) => count > 0);
    if (now !== -1) spent[now] = (spent[now] ?? 0) + at - last;
    last = at;
    running[share] = (running[share] ?? 0) + step;
  }
  const own = totalMs - spent.reduce((sum, ms) => sum + ms, 0);
  return [
    ...SHARES.map(({ kind, label }, index) => ({ kind, label, ms: round(spent[index] ?? 0) })),
    { kind: 'app' as const, label: 'Own code', ms: round(Math.max(0, own)) },
  ]
    .filter(({ ms }) => ms > 0)
    .sort((a, b) => b.ms - a.ms);
}

/** The whole of a request that still runs is not known: to the last that was seen of it. */
function totalOf(profile: Profile): number {
  return profile.durationMs ?? runtimeOf(profile)?.durationMs ?? headersAtOf(profile) ?? 0;
}

function derive(profile: Profile): TimelineData {
  const totalMs = totalOf(profile);
  const layers = layerSpans(layersOf(profile), totalMs);
  const parts = [...queryParts(profile, totalMs), ...otherParts(profile, totalMs)];

  /** Depth below the innermost layer that ran then; layers are in the order of their start. */
  function depthAt(startMs: number): number {
    let depth = 0;
    for (const { layer, end } of layers) {
      if (layer.startMs > startMs) break;
      if (end >= startMs) depth = layer.depth + 1;
    }
    return depth + 1;
  }

  const spanOf = (part: Part, depth: number): Span => ({
    kind: part.kind,
    label: part.label,
    startMs: round(part.startMs),
    durationMs: round(part.durationMs),
    depth,
    ...(part.panel === undefined ? {} : { panel: part.panel }),
    ...(part.anchor === undefined ? {} : { anchor: part.anchor }),
    ...(profile.durationMs !== null && part.startMs > profile.durationMs ? { after: true } : {}),
  });
  const line = profile.method === '' ? 'request' : `${profile.method} ${profile.url.replace(/\?.*$/s, '')}`;
  const spans = [
    ...layers.map((part) => spanOf(part, part.layer.depth + 1)),
    ...parts.map((part) => spanOf(part, depthAt(part.startMs) + part.below)),
  ].sort((a, b) => a.startMs - b.startMs || a.depth - b.depth);
  const root: Span = {
    kind: 'app',
    label: shorten(line, 200),
    startMs: 0,
    durationMs: round(totalMs),
    depth: 0,
    panel: 'request',
  };
  const headersMs = headersAtOf(profile);
  return {
    totalMs: round(totalMs),
    headersMs: headersMs === null ? null : round(headersMs),
    spans: [root, ...spans],
    shares: sharesOf(parts, totalMs),
  };
}

function timeText(ms: number): string {
  if (ms >= 1000) return `${(ms / 1000).toFixed(2)} s`;
  return ms >= 99.95 ? `${Math.round(ms)} ms` : `${ms.toFixed(1)} ms`;
}

export function createTimelinePanel(): Panel<TimelineData, null> {
  return {
    name: 'timeline',
    title: 'Timeline',
    collect: () => null,
    derive: (_kept, { profile }) => derive(profile),
    summary: ({ totalMs }) => ({ text: timeText(totalMs), tone: 'plain' }),
    present: presentTimeline,
  };
}
