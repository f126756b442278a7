/**
 * Panel `routing`: how the request found its route, or why it found none.
 *
 * In: facts `layer` (what ran), `route` (what answered) and `routing` (all routes, near ones, redirect). Out: the trace
 * as it ran, the routes, the near ones with a reason each. Nothing is matched again here. The page of a 404 shows the
 * same data.
 */
import type { Context } from '../profiler/context.ts';
import type { Facts } from '../profiler/facts.ts';
import type { Finding } from '../profiler/finding.ts';
import type { Json, Panel } from '../profiler/panel.ts';
import { cutText, toPlain } from '../profiler/plain.ts';
import { whyNear, whyRouteDiffers } from './routing/reasons.ts';
import { buildTrace, type Asked, type TraceRow } from './routing/trace.ts';

export interface RouteGroup {
  name: string | null;
  methods: string[];
  pattern: string;
  handler: string | null;
  source: string | null;
  /** Why it did not match; null where a route answered. */
  why: string | null;
}

export interface RoutingData {
  asked: Asked;
  route: {
    pattern: string;
    method: string;
    handler: string | null;
    source: string | null;
    params: { name: string; value: Json }[];
  } | null;
  /** Milliseconds until the route's first handler was called. */
  matchedMs: number | null;
  trace: TraceRow[];
  traceCut: number;
  /** Layers that ran, in all. */
  ran: number;
  /** null where the routes were not listed. */
  routes: RouteGroup[] | null;
  routesCut: number;
  nearest: RouteGroup[];
  secondTry: { path: string; matched: boolean } | null;
  redirect: { status: number; location: string } | null;
  allow: string[];
}

const MOST_ROUTES = 500;
const MOST_NEAR = 10;
const LONGEST_TEXT = 500;
const PARAM_LIMITS = { depth: 2, width: 30, length: 1000, total: 60 };

type RouteRow = NonNullable<Facts['routing']['table']>[number];

function pathOf(target: string): string {
  const end = target.search(/[?#]/);
  return cutText(end === -1 ? target : target.slice(0, end), 2000);
}

/** Rows of the same pattern, one below the other, are one route with several methods. */
function groupRoutes<Row extends RouteRow>(
  rows: readonly Row[],
  why: (group: RouteGroup, first: Row) => string | null,
): RouteGroup[] {
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
      pattern: cutText(pattern, LONGEST_TEXT),
      handler,
      source,
      why: null,
    };
    groups.push({ group, first: row });
  }
  return groups.map(({ group, first }) => ({ ...group, why: why(group, first) }));
}

function readRoute(context: Context): RoutingData['route'] {
  const fact = context.last('route');
  if (fact === undefined) return null;
  const { pattern, method, handler, source } = fact;
  const params = Object.entries(fact.params).slice(0, 50);
  return {
    pattern: cutText(pattern, LONGEST_TEXT),
    method,
    handler,
    source,
    params: params.map(([name, value]) => ({
      name: cutText(name, 200),
      value: toPlain(value, PARAM_LIMITS),
    })),
  };
}

function readTable(
  fact: Facts['routing'] | undefined,
  asked: Asked,
  tables: AnsweredTables | null,
): ReadTable {
  if (fact === undefined || fact.table === null) return { routes: null, routesCut: 0 };
  const { table } = fact;
  if (tables !== null) return answeredTable(table, tables);
  const groups = groupRoutes(table, ({ methods, pattern }) => whyRouteDiffers(methods, pattern, asked));
  return cutTable(groups);
}

type ReadTable = Pick<RoutingData, 'routes' | 'routesCut'>;

function cutTable(groups: readonly RouteGroup[]): ReadTable {
  const routes = groups.slice(0, MOST_ROUTES);
  return { routes, routesCut: groups.length - routes.length };
}

/** Requests that a route answers share one table while the routes stay: it is the same for all of them. */
type AnsweredTables = WeakMap<readonly RouteRow[], ReadTable>;

function answeredTable(table: readonly RouteRow[], tables: AnsweredTables): ReadTable {
  const known = tables.get(table) ?? cutTable(groupRoutes(table, () => null));
  tables.set(table, known);
  return known;
}

function readNearest(fact: Facts['routing'] | undefined, asked: Asked): RouteGroup[] {
  return groupRoutes(fact?.nearest ?? [], (_group, first) => whyNear(first, asked)).slice(0, MOST_NEAR);
}

function methodsSentence({ allow, asked }: RoutingData): string {
  return `${cutText(asked.path, 200)} exists for ${allow.join(', ')}, not for ${asked.method}`;
}

function placed(finding: Finding, source: string | null | undefined): Finding {
  return source === null || source === undefined ? finding : { ...finding, place: source };
}

export function createRoutingPanel(): Panel<RoutingData> {
  const tables: AnsweredTables = new WeakMap();
  return {
    name: 'routing',
    title: 'Routing',
    collect(context) {
      const fact = context.last('routing');
      if (fact === undefined && context.first('layer') === undefined && context.first('route') === undefined)
        return null;
      const request = context.first('request');
      const asked = { method: cutText(request?.method ?? '', 64), path: pathOf(request?.url ?? '') };
      const { trace, traceCut, ran } = buildTrace(context, asked);
      const route = readRoute(context);
      return {
        asked,
        route,
        matchedMs: context.all('layer').find(({ kind }) => kind === 'handler')?.startMs ?? null,
        trace,
        traceCut,
        ran,
        ...readTable(fact, asked, route === null ? null : tables),
        nearest: readNearest(fact, asked),
        secondTry: fact?.secondTry ?? null,
        redirect: fact?.redirect ?? null,
        allow: [...(fact?.allow ?? [])],
      };
    },
    findings(data) {
      const common = { panel: 'routing', anchor: 'nearest' };
      const [near] = data.nearest;
      if (data.allow.length > 0)
        return [
          placed(
            { ...common, label: 'wrong method', severity: 'warn', sentence: methodsSentence(data) },
            near?.source,
          ),
        ];
      if (data.route !== null || near === undefined || data.redirect !== null) return [];
      const sentence = `No route matches; the nearest is ${near.methods.join(', ')} ${near.pattern}: ${near.why}`;
      return [placed({ ...common, label: 'no route', severity: 'info', sentence }, near.source)];
    },
    summary(data) {
      if (data.redirect !== null) return { text: String(data.redirect.status), tone: 'plain' };
      if (data.allow.length > 0) return { text: 'wrong method', tone: 'warn' };
      return null;
    },
  };
}
