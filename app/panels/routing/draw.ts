/** What the page shows besides the rows: the trace, without non-matching routes if it is long, and a page of the routes. */
import type { PanelPage } from '../../profiler/panel.ts';
import type { RouteGroup, RoutingData } from './data.ts';
import { addressOf, pageOf } from '../shared/rows.ts';
import { findOf } from '../shared/find-field.ts';
import { nearestFirst } from '../../view-helpers/route-rows.ts';

/** In traces with more rows, non-matching ones are left out. */
const LONG_TRACE = 80;

function contains({ name, methods, pattern, handler, source, why }: RouteGroup, text: string): boolean {
  return [name, methods.join(' '), pattern, handler, source, why].some(
    (part) => part?.toLowerCase().includes(text) === true,
  );
}

function costOf({ pattern, handler, source, why, name }: RouteGroup): number {
  const texts = [pattern, handler, source, why, name];
  return 400 + texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);
}

function tableOf(data: RoutingData, query: PanelPage['query']) {
  if (data.routes === null && data.nearest.length === 0) return null;
  const find = findOf(query);
  const wanted = find.trim().toLowerCase();
  const all = nearestFirst(data.nearest, data.routes ?? []);
  const found = wanted === '' ? all : all.filter((route) => contains(route, wanted));
  const page = pageOf(found, { query, cost: costOf });
  const address = (from: number | null): string => `${addressOf('routing', { find, from })}#routes`;
  return {
    /** Nearest first, if no route responded. */
    rows: page.rows,
    find,
    /** Routes in all, and those that contain the searched text. */
    total: all.length,
    found: found.length,
    next: page.next === null ? null : address(page.next),
    earlier: page.earlier ? address(null) : null,
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
