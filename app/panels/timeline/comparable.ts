/** What the browser measured of two pages, as they are compared by it; the server's own time is compared by what filled it. */
import type { Comparable } from '../../profiler/comparable.ts';
import type { PanelPage } from '../../profiler/panel.ts';
import type { TimelineData } from './index.ts';
import { browserView } from './browser.ts';

export function comparableTimeline(
  data: TimelineData,
  { timing }: NonNullable<PanelPage['amendments']>,
): Comparable {
  const figures = browserView(data, timing)?.figures ?? [];
  return {
    figures: figures.flatMap(({ label, ms, total }) =>
      ms === null || total
        ? []
        : [
            {
              label: `In the browser: ${label.toLowerCase()}`,
              value: ms,
              unit: 'ms',
              cost: true,
              measured: true,
            },
          ],
    ),
  };
}
