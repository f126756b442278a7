/** What the page shows besides the rows: the trace, without non-matching routes if it is long, and the routes that the filter leaves. */
import type { PanelPage } from '../../profiler/panel.ts';
import type { RouteGroup, RoutingData } from './data.ts';
import { addressOf, findOf, firstRows } from '../../render/rows-page.ts';
import { nearestFirst } from '../../view-helpers/route-rows.ts';

/** In traces with more rows, non-matching ones are left out. */
const LONG_TRACE = 80;

function contains({ name, methods, pattern, handler, source, why }: RouteGroup, text: string): boolean {
  return [name, methods.join(' '), pattern, handler, source, why].some(
    (part) => part?.toLowerCase().includes(text) === true,
  );
}

function tableOf(data: RoutingData, query: PanelPage['query']) {
  if (data.routes === null && data.nearest.length === 0) return null;
  const find = findOf(query);
  const wanted = find.trim().toLowerCase();
  const all = nearestFirst(data.nearest, data.routes ?? []);
  const found = wanted === '' ? all : all.filter((route) => contains(route, wanted));
  return {
    /** Nearest first, if no route responded. */
    rows: firstRows(found, query),
    find,
    /** Routes in all, and those that contain the searched text. */
    total: all.length,
    found: found.length,
    allHref: `${addressOf('routing', { find, all: 1 })}#routes`,
  };
}

export function drawRouting(data: RoutingData, { query }: PanelPage) {
  // If none responded, all routes are in the table, with the reason.
  const whole = data.route === null ? data.trace.filter(({ kind }) => kind !== 'route') : data.trace;
  const isLong = whole.length > LONG_TRACE && query.trace !== 'all';
  const trace = isLong ? whole.filter(({ tone }) => tone !== 'off') : whole;
  return {
    trace,
    /** Non-matching routes and mounts left out of the trace. */
    farLeftOut: whole.length - trace.length,
    /** The page with the whole trace; null if nothing is left out. */
    wholeTrace: isLong ? `${addressOf('routing', { trace: 'all' })}#match` : null,
    table: tableOf(data, query),
  };
}
