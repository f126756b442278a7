/** The panel of views: templates and partials as a tree, with time, caller and what they were given. */
import type { Context } from '../profiler/context.ts';
import type { Json, Panel, PanelPage } from '../profiler/panel.ts';
import { comparableViews } from './views/comparable.ts';
import { addressOf, coveredMs, pageOf, round, roundOrNull } from './shared/rows.ts';

export interface ViewEntry {
  name: string;
  file: string | null;
  startMs: number;
  durationMs: number | null;
  /** Without the partials inside. */
  ownMs: number | null;
  depth: number;
  parent: number | null;
  locals: Json;
  caller: string | null;
  error: string | null;
}

/** What each profile keeps. */
export interface KeptViews {
  views: Omit<ViewEntry, 'ownMs'>[];
}

export interface ViewsData {
  views: ViewEntry[];
  totals: { views: number; templates: number; durationMs: number };
}

function collect(context: Context): KeptViews | null {
  const facts = context.all('view');
  if (facts.length === 0) return null;
  return {
    views: facts.map((fact) => ({
      name: fact.name,
      file: fact.file,
      startMs: round(fact.startMs),
      durationMs: roundOrNull(fact.durationMs),
      depth: fact.depth,
      parent: fact.parent,
      locals: fact.locals,
      caller: fact.caller,
      error: fact.error,
    })),
  };
}

function derive(kept: KeptViews | null): ViewsData | null {
  if (kept === null) return null;
  const inside = new Map<number, number>();
  for (const { parent, durationMs } of kept.views) {
    if (parent !== null) inside.set(parent, (inside.get(parent) ?? 0) + (durationMs ?? 0));
  }
  const views = kept.views.map((view, index): ViewEntry => {
    const { durationMs } = view;
    const ownMs = durationMs === null ? null : round(Math.max(0, durationMs - (inside.get(index) ?? 0)));
    return { ...view, ownMs };
  });
  return {
    views,
    totals: {
      views: views.length,
      templates: new Set(views.map(({ file, name }) => file ?? name)).size,
      durationMs: round(coveredMs(views)),
    },
  };
}

export interface ViewRow {
  view: ViewEntry;
  id: string;
  /** Partials of one template that follow each other are one row. */
  count: number;
  sumMs: number;
}

function rowsOf(views: readonly ViewEntry[]): ViewRow[] {
  const rows: ViewRow[] = [];
  views.forEach((view, index) => {
    const last = rows.at(-1);
    const same = last?.view.parent === view.parent && last.view.name === view.name && view.parent !== null;
    if (last !== undefined && same) {
      last.count++;
      last.sumMs += view.durationMs ?? 0;
    } else rows.push({ view, id: `v${index + 1}`, count: 1, sumMs: view.durationMs ?? 0 });
  });
  return rows;
}

function present(data: ViewsData, { query }: PanelPage) {
  const find = (query.find ?? '').slice(0, 200);
  const rows = rowsOf(data.views);
  const found =
    find === ''
      ? rows
      : rows.filter(({ view }) =>
          `${view.name}\n${view.file ?? ''}`.toLowerCase().includes(find.toLowerCase()),
        );
  const page = pageOf(found, { query, cost: ({ view }) => 550 + JSON.stringify(view.locals).length * 3 });
  const link = (changes: Record<string, string | number | null>): string =>
    addressOf('views', { find, ...changes });
  return {
    find,
    clear: link({ find: null }),
    page,
    firstHref: link({}),
    nextHref: page.next === null ? null : link({ from: page.next }),
    allHref: link({ all: 1 }),
    slowestMs: Math.max(0, ...rows.map(({ sumMs }) => sumMs)),
  };
}

export function createViewsPanel(): Panel<ViewsData, KeptViews> {
  return {
    name: 'views',
    title: 'Views',
    comparable: comparableViews,
    collect,
    derive,
    summary: ({ totals, views }) => ({
      text: String(totals.views),
      tone: views.some(({ error }) => error !== null) ? 'bad' : 'plain',
      count: totals.views,
    }),
    present,
  };
}
