/** Views as two profiles are compared by them: by name, each without the partials inside. */
import { addUpWork, type Comparable } from '../../profiler/comparable.ts';
import type { ViewsData } from './index.ts';

const LENGTH = 300;

export function comparableViews({ views, totals }: ViewsData): Comparable {
  return {
    figures: [{ label: 'Time in views', value: totals.durationMs, unit: 'ms', cost: true }],
    work: addUpWork(
      views.map(({ name, ownMs }) => {
        const label = name.slice(0, LENGTH);
        return { section: 'Views', key: label, label, times: 1, ms: ownMs };
      }),
    ),
  };
}
