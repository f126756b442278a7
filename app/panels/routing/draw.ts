/** What the page shows besides the rows: the trace, without non-matching routes if it is long, and a page of the routes. */
import type { PanelPage } from '../../profiler/panel.ts';
import type { RouteGroup, RoutingData, TraceRow } from './data.ts';
import { addressOf, pageOf } from '../shared/rows.ts';
import { findOf } from '../shared/find-field.ts';

export interface RoutingPage {
  trace: TraceRow[];
  /** Non-matching routes and mounts left out of the trace. */
  farLeftOut: number;
  /** The page with the whole trace; null if nothing is left out. */
  wholeTrace: string | null;
  table: {
    rows: (RouteGroup & { number: number })[];
    find: string;
    /** Routes that contain the searched text. */
    found: number;
    next: string | null;
    earlier: string | null;
  } | null;
}

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

function tableOf(data: RoutingData, query: PanelPage['query']): RoutingPage['table'] {
  if (data.routes === null) return null;
  const find = findOf(query);
  const wanted = find.trim().toLowerCase();
  const all = data.routes.map((route, index) => ({ ...route, number: index + 1 }));
  const found = wanted === '' ? all : all.filter((route) => contains(route, wanted));
  const page = pageOf(found, { query, cost: costOf });
  const address = (from: number | null): string => `${addressOf('routing', { find, from })}#routes`;
  return {
    rows: page.rows,
    find,
    found: found.length,
    next: page.next === null ? null : address(page.next),
    earlier: page.earlier ? address(null) : null,
  };
}

export function drawRouting(data: RoutingData, { query }: PanelPage): RoutingPage {
  const isLong = data.trace.length > LONG_TRACE && query.trace !== 'all';
  const trace = isLong ? data.trace.filter(({ tone }) => tone !== 'off') : data.trace;
  return {
    trace,
    farLeftOut: data.trace.length - trace.length,
    wholeTrace: isLong ? `${addressOf('routing', { trace: 'all' })}#match` : null,
    table: tableOf(data, query),
  };
}
