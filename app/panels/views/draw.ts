/** What the page shows besides the rows: the call tree, the sum of each template, locals. */
import type { PanelPage } from '../../profiler/panel.ts';
import { addressOf, findOf, firstRows } from '../../render/rows-page.ts';
import { round } from '../shared/rows.ts';
import type { ViewEntry, ViewsData } from './data.ts';
import { readTemplateError, type TemplateError } from './template-error.ts';

export interface ViewRow {
  view: ViewEntry;
  id: string;
  /** Consecutive partials of one template are one row. */
  count: number;
  sumMs: number;
  selfMs: number;
  failure: TemplateError | null;
}

/** All renders of one template. */
export interface TemplateRow {
  name: string;
  count: number;
  sumMs: number;
  selfMs: number;
  longestMs: number;
  /** Its first render in the tree. */
  anchor: string;
}

/** Lines of a tree of locals. */
const TREE_LINES = 60;
const TEMPLATES_SHOWN = 50;

/** `open`: id of a render that gets its own row. */
function rowsOf(views: readonly ViewEntry[], open: string | undefined): ViewRow[] {
  const rows: ViewRow[] = [];
  views.forEach((view, index) => {
    const { name, parent, durationMs, selfMs, error } = view;
    const last = rows.at(-1);
    const same = last?.view.parent === parent && last.view.name === name && parent !== null;
    const id = `v${index + 1}`;
    if (last !== undefined && same && error === null && id !== open) {
      last.count++;
      last.sumMs += durationMs ?? 0;
      last.selfMs += selfMs ?? 0;
      return;
    }
    const failure = error === null ? null : readTemplateError(error);
    rows.push({ view, id, count: 1, sumMs: durationMs ?? 0, selfMs: selfMs ?? 0, failure });
  });
  return rows;
}

function templatesOf(views: readonly ViewEntry[]): TemplateRow[] {
  const byFile = new Map<string, TemplateRow>();
  views.forEach(({ name, file, durationMs, selfMs }, index) => {
    const key = file ?? name;
    const row = byFile.get(key) ?? {
      name,
      count: 0,
      sumMs: 0,
      selfMs: 0,
      longestMs: 0,
      anchor: `v${index + 1}`,
    };
    row.count++;
    row.sumMs = round(row.sumMs + (durationMs ?? 0));
    row.selfMs = round(row.selfMs + (selfMs ?? 0));
    row.longestMs = Math.max(row.longestMs, durationMs ?? 0);
    byFile.set(key, row);
  });
  return [...byFile.values()].sort((a, b) => b.selfMs - a.selfMs);
}

export function drawViews(data: ViewsData, { query }: PanelPage) {
  const find = findOf(query);
  const text = find.toLowerCase();
  const rows = rowsOf(data.views, query.open);
  const found = rows.filter(({ view }) => `${view.name}\n${view.file ?? ''}`.toLowerCase().includes(text));
  const listed = firstRows(found, query);
  const shown = new Set(listed.map(({ id }) => id));
  const templates = data.totals.views > data.totals.templates ? templatesOf(data.views) : [];
  const link = (changes: Record<string, string | number | null>): string =>
    addressOf('views', { find, ...changes });
  return {
    find,
    clear: link({ find: null }),
    rows: listed,
    total: found.length,
    templates: templates.slice(0, TEMPLATES_SHOWN).map((row) => ({ ...row, onPage: shown.has(row.anchor) })),
    templatesLeft: Math.max(0, templates.length - TEMPLATES_SHOWN),
    treeLines: TREE_LINES,
    allHref: link({ all: 1 }),
    slowestMs: Math.max(0, ...rows.map(({ sumMs }) => sumMs)),
  };
}
