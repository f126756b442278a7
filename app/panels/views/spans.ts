import { lasting, shorten, type SpanDraft } from '../../profiler/span.ts';
import { unkeptSpans } from '../shared/unkept.ts';
import type { KeptViews } from './data.ts';

export function viewSpans({ views, unkept }: KeptViews, endMs: number): SpanDraft[] {
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
    });
  }
  drafts.push(...unkeptSpans(unkept, { kind: 'view', noun: 'renders', panel: 'views' }));
  return drafts;
}
