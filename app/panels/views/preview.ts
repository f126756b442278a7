/** What the toolbar shows of the templates: those that failed, then those that took longest by themselves. */
import type { PanelPreview } from '../../profiler/panel.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { firstRows, noteOf } from '../shared/preview.ts';
import type { ViewsData } from './index.ts';

const { count, durationText } = numberHelpers;

export function previewViews({ views, totals }: ViewsData): PanelPreview {
  const ranked = views
    .map((view, index) => ({ view, index }))
    .sort(
      (a, b) =>
        Number(b.view.error !== null) - Number(a.view.error !== null) ||
        (b.view.ownMs ?? 0) - (a.view.ownMs ?? 0),
    );
  return {
    facts: [
      ['Views', `${count(totals.views)}, ${count(totals.templates, 'template')}`],
      ['Time', durationText(totals.durationMs)],
    ],
    ...firstRows(ranked, ({ view: { name, ownMs, error, caller }, index }) => ({
      text: name,
      note: noteOf(error === null ? null : 'failed', ownMs === null ? null : durationText(ownMs), caller),
      tone: error === null ? 'plain' : 'bad',
      row: `v${index + 1}`,
    })),
  };
}
