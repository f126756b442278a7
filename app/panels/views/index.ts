/** The panel of views: templates and partials as a tree, with time, caller and locals. */
import type { Facts } from '../../profiler/record/facts.ts';
import type { FactReader } from '../../profiler/record/recorded-facts.ts';
import type { Panel } from '../../profiler/panel.ts';
import { lasting, shorten, type SpanDraft } from '../../profiler/read/span.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { unkeptOf, unkeptSpans } from '../shared/unkept.ts';
import type { ViewEntry, ViewsData } from './data.ts';
import { presentViews } from './present.ts';

/** By the extension of the file or name, else the application's setting. */
function engineOf({ name, file, engine }: Facts['view']): string | null {
  return /\.([a-z]{2,12})$/i.exec(file ?? name)?.[1]?.toLowerCase() ?? engine ?? null;
}

function dataOf(record: FactReader): ViewsData | null {
  const facts = record.all('view');
  if (facts.length === 0) return null;
  const views = facts.map((view): ViewEntry => ({ ...view, engine: engineOf(view) }));
  const unkept = unkeptOf(record.beyond('view'));
  return {
    views,
    ...(unkept === null ? {} : { unkept }),
    totals: {
      views: views.length + (unkept?.count ?? 0),
      templates: new Set(views.map(({ file, name }) => file ?? name)).size,
      engines: [...new Set(views.flatMap(({ engine }) => (engine === null ? [] : [engine])))],
    },
  };
}

function viewSpans({ views, unkept }: ViewsData, endMs: number): SpanDraft[] {
  const drafts: SpanDraft[] = [];
  for (const [index, view] of views.entries()) {
    const above = view.parent === null ? undefined : drafts[view.parent];
    drafts.push({
      kind: 'view',
      label: shorten(view.name, 120),
      startMs: view.startMs,
      durationMs: lasting(view.startMs, view.durationMs, endMs),
      panel: 'views',
      anchor: `v${index + 1}`,
      ...(above === undefined ? {} : { inside: above }),
      ...(view.error === null ? {} : { failed: 'failed' }),
    });
  }
  drafts.push(...unkeptSpans(unkept, { kind: 'view', noun: 'renders', panel: 'views' }));
  return drafts;
}

export const viewsPanel: Panel<ViewsData> = {
  name: 'views',
  title: 'Views',
  menu: {
    key: 'v',
    rank: 80,
    summary: ({ totals, views }) => ({
      text: numberHelpers.count(totals.views),
      tone: views.some(({ error }) => error !== null) ? 'bad' : 'plain',
      count: totals.views,
    }),
  },
  recorded: {
    facts: { view: 'renders' },
    spans: (kept, { endMs }) => viewSpans(kept, endMs),
    nothing: {
      what: 'This request rendered no view.',
      why: 'Recorded: every Express view engine. Partials: EJS, Handlebars and Pug, and Eta if it was passed to the profiler.',
    },
  },
  data: dataOf,
  rows: presentViews,
  view: { kind: 'view' },
};
