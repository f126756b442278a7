/**
 * The routing panel: how the request found its route, or why it found none. Stored: the layers that ran as rows, and similar routes with a
 * reason each; all profiles share the table of routes. Derived: the trace, and why each route did not match; nothing is matched again. The
 * page of a 404 shows the same data.
 */
import type { Context } from '../../profiler/record/context.ts';
import type { Facts } from '../../profiler/record/facts.ts';
import type { Panel, RecordReader } from '../../profiler/panel.ts';
import { truncateText, toPlain } from '../../profiler/record/plain.ts';
import type { Asked, KeptRouting, NearGroup, RouteGroup, RoutingData, SharedRoutes } from './data.ts';
import { presentRouting } from './present.ts';
import { whyNear, whyRouteDiffers } from './reasons.ts';
import { buildTrace } from './trace.ts';
import { headersAtMsOf, headersByLayer } from '../shared/kept-panels.ts';
import { mountedHandler, ranLayer, type RanLayer } from '../shared/ran-layers.ts';
import { pathOf } from '../../profiler/request-target.ts';
import { type SpanDraft, shorten } from '../../profiler/read/span.ts';

/** A layer lasts until the next one starts, a router until its last layer ends. */
function lastsUntil(layer: RanLayer, totalMs: number): number {
  const own = layer.settledMs ?? layer.durationMs;
  if (layer.outcome === 'next' && layer.nextMs !== null) return layer.startMs + layer.nextMs;
  if (layer.outcome === 'threw' && own !== null) return layer.startMs + own;
  return Math.max(totalMs, layer.startMs + (own ?? 0));
}

function labelOf({ name, kind, pattern, method }: RanLayer): string {
  if (kind === 'handler') return `${method ?? 'ALL'} ${pattern} ${name === '<anonymous>' ? '' : name}`.trim();
  if (kind === 'router') return `router ${pattern}`;
  return kind === 'middleware' || pattern === '/' ? name : `${name} ${pattern}`;
}

/** Error handlers pass on what was thrown: the first one threw it. */
function throwerOf(layers: readonly RanLayer[]): RanLayer | undefined {
  return layers.find(({ kind, outcome }) => kind !== 'router' && outcome === 'threw');
}

function isErrorPage({ kind, name }: RanLayer, child: string | null): boolean {
  return child !== null && kind === 'error' && name === 'errorPage';
}

/** In the order of the layers, each inside its router. `child`: token of the request's error page. */
function layerSpans(
  ran: readonly RanLayer[],
  { totalMs, child, route }: { totalMs: number; child: string | null; route: KeptRouting['route'] },
): SpanDraft[] {
  const layers = ran.filter((layer) => !isErrorPage(layer, child));
  const ends = layers.map((layer) => lastsUntil(layer, totalMs));
  const open: (SpanDraft | null)[] = [];
  const thrower = throwerOf(layers);
  const mounted = mountedHandler(layers, route);
  return layers.map((layer, index): SpanDraft => {
    const { kind, startMs, durationMs, depth } = layer;
    let end = ends[index] ?? startMs;
    if (kind === 'router') {
      for (let inner = index + 1; (layers[inner]?.depth ?? -1) > depth; inner++)
        end = Math.max(end, ends[inner] ?? 0);
    }
    const span: SpanDraft = {
      kind: kind === 'handler' || kind === 'error' || layer === mounted ? 'app' : 'middleware',
      label: shorten(labelOf(layer), 200),
      startMs,
      durationMs: end - startMs,
      isLayer: true,
      inside: depth === 0 ? null : (open[depth - 1] ?? null),
      ...(durationMs === null ? {} : { ranMs: durationMs }),
      ...(layer === thrower ? { failed: 'threw' } : {}),
    };
    open.length = depth;
    open[depth] = span;
    return span;
  });
}

const MOST_ROUTES = 500;
const MOST_NEAR = 10;
const LONGEST_TEXT = 500;
const PARAM_LIMITS = { depth: 2, width: 30, length: 1000, total: 60 };

type RouteRow = NonNullable<Facts['routing']['table']>[number];

/** Adjacent rows of the same pattern are one route with several methods. */
function groupRoutes<Row extends RouteRow>(rows: readonly Row[]): { group: RouteGroup; first: Row }[] {
  const groups: { group: RouteGroup; first: Row }[] = [];
  for (const row of rows) {
    const last = groups.at(-1)?.group;
    if (last?.pattern === row.pattern && last.handler === row.handler && last.source === row.source) {
      if (!last.methods.includes(row.method)) last.methods.push(row.method);
      continue;
    }
    const { pattern, handler, source, name = null } = row;
    const group = {
      name,
      methods: [row.method],
      pattern: truncateText(pattern, LONGEST_TEXT),
      handler,
      source,
      why: null,
    };
    groups.push({ group, first: row });
  }
  return groups;
}

function readRoute(context: Context): KeptRouting['route'] {
  const fact = context.last('route');
  if (fact === undefined) return null;
  const { pattern, method, handler, source } = fact;
  const params = Object.entries(fact.params).slice(0, 50);
  return {
    pattern: truncateText(pattern, LONGEST_TEXT),
    method,
    handler,
    source,
    params: params.map(([name, value]) => ({
      name: truncateText(name, 200),
      value: toPlain(value, PARAM_LIMITS),
    })),
  };
}

function sharedRoutes(table: readonly RouteRow[]): SharedRoutes {
  const groups = groupRoutes(table);
  const routes = groups.slice(0, MOST_ROUTES).map(({ group }) => group);
  return { routes, routesDropped: groups.length - routes.length };
}

function readNearest(fact: Facts['routing'] | undefined, asked: Asked): NearGroup[] {
  return groupRoutes(fact?.nearest ?? [])
    .slice(0, MOST_NEAR)
    .map(({ group, first }) => ({
      ...group,
      why: whyNear(first, asked),
      reason: first.reason,
      distance: first.distance,
    }));
}

function askedOf({ method, url }: { method: string; url: string }): Asked {
  return { method: truncateText(method, 64), path: truncateText(pathOf(url), 2000) };
}

function collect(context: Context): KeptRouting | null {
  const fact = context.last('routing');
  const layers = context.all('layer');
  const route = readRoute(context);
  if (fact === undefined && layers.length === 0 && route === null) return null;
  const request = context.first('request');
  return {
    layers: layers.map(ranLayer),
    considered: [...(fact?.considered ?? [])],
    route,
    nearest: readNearest(fact, askedOf({ method: request?.method ?? '', url: request?.url ?? '' })),
    secondTry: fact?.secondTry ?? null,
    redirect: fact?.redirect ?? null,
    allow: [...(fact?.allow ?? [])],
  };
}

function dataOf({ collected: kept, profile, shared }: RecordReader<KeptRouting>): RoutingData | null {
  if (kept === null) return null;
  const { layers, considered, ...shown } = kept;
  const { route, nearest } = kept;
  const asked = askedOf(profile);
  const table = shared as SharedRoutes | null;
  const threw = layers.some(({ kind, outcome }) => kind === 'param' && outcome === 'threw');
  const before = threw ? 'the handler of a parameter threw' : null;
  const routes = table?.routes.map((group) => ({
    ...group,
    why: route === null ? whyRouteDiffers(group.methods, group.pattern, asked, before) : null,
  }));
  return {
    ...shown,
    asked,
    matchedMs: layers.find(({ kind }) => kind === 'handler')?.startMs ?? null,
    routes: routes ?? null,
    routesDropped: table?.routesDropped ?? 0,
    ...buildTrace(layers, considered, {
      asked,
      profile,
      headersBy: headersByLayer(profile),
      headersAtMs: headersAtMsOf(profile),
      near: new Map(nearest.map(({ pattern, why }) => [pattern, why ?? ''])),
    }),
  };
}

export function createRoutingPanel(): Panel<RoutingData, KeptRouting> {
  const tables = new WeakMap<readonly RouteRow[], SharedRoutes>();

  function sharedOf(table: readonly RouteRow[]): SharedRoutes {
    const known = tables.get(table) ?? sharedRoutes(table);
    tables.set(table, known);
    return known;
  }

  return {
    name: 'routing',
    title: 'Routing',
    menu: {
      key: 'o',
      rank: false,
      summary(data) {
        if (data.redirect !== null) return { text: String(data.redirect.status), tone: 'plain' };
        if (data.allow.length > 0) return { text: 'wrong method', tone: 'warn' };
        return null;
      },
    },
    recorded: {
      facts: { layer: 'middleware calls' },
      nothing: {
        what: 'No middleware or route ran for this request.',
        why: 'The response was sent, or the request was refused, before Express began to route it.',
      },
      spans: ({ layers, route }, { endMs, profile: { child } }) =>
        layerSpans(layers, { totalMs: endMs, child, route }),
      shared(context) {
        const table = context.last('routing')?.table ?? null;
        return table === null ? null : sharedOf(table);
      },
    },
    collect,
    data: dataOf,
    rows: presentRouting,
  };
}
