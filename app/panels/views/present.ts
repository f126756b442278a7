import type { PresentFrom } from '../../profiler/panel.ts';
import type { Presentation } from '../../profiler/rows.ts';
import { shareFigure, timeFigure } from '../shared/timeline-data.ts';
import { keptNote } from '../shared/unkept.ts';
import type { ViewsData } from './data.ts';

export function presentViews({ views, unkept, totals }: ViewsData, { profile }: Pick<PresentFrom, 'profile'>): Presentation {
  return {
    figures: [
      { label: 'Renders', value: totals.views, note: keptNote(views.length, unkept) },
      { label: 'Templates', value: totals.templates },
      timeFigure(profile, 'view', 'Time in views'),
      shareFigure(profile, 'view'),
      {
        label: totals.engines.length > 1 ? 'Engines' : 'Engine',
        value: totals.engines.join(', ').slice(0, 80) || null,
      },
    ],
    sections: [
      {
        id: 'views',
        title: 'Views',
        columns: { text: 'Template', number: 'Self time', place: 'Rendered from' },
        card: 'largest',
        rows: views.map(({ name, file, startMs, durationMs: ms, selfMs, depth, caller, error, locals, includes }, index) => ({
          id: `v${index + 1}`,
          text: name,
          number: selfMs,
          depth,
          tone: error === null ? 'plain' : 'bad',
          badges: error === null ? [] : ['failed'],
          place: caller,
          key: name,
          fields: [
            { label: 'Start', value: startMs, unit: 'at' },
            { label: 'Time', value: ms, unit: 'ms' },
            { label: 'File', value: file },
            { label: 'Includes', value: includes?.join(', ') ?? null },
            { label: 'Locals', value: locals },
            { label: 'Error', value: error },
          ],
        })),
      },
    ],
  };
}
