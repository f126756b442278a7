/** A page that took long to render. */
import type { FindingRule } from '../profiler/finding.ts';
import type { Kept } from './shared/kept.ts';
import { counted, dearestFirst, duration, placed, shareOf } from './shared/wording.ts';

const SLOW_MS = 100;

type View = Kept['views']['views'][number];

/** The partial below it that took most, all its uses together; null where none took half. */
function heaviest(
  views: readonly View[],
  page: number,
  pageMs: number,
): { name: string; count: number; ms: number } | null {
  const sums = new Map<string, { name: string; count: number; ms: number }>();
  for (const { parent, name, durationMs } of views) {
    if (parent !== page) continue;
    const sum = sums.get(name) ?? { name, count: 0, ms: 0 };
    sums.set(name, { name, count: sum.count + 1, ms: sum.ms + (durationMs ?? 0) });
  }
  const [most] = [...sums.values()].sort((a, b) => b.ms - a.ms);
  return most === undefined || most.ms < pageMs / 2 ? null : most;
}

export const slowView: FindingRule<Pick<Kept, 'views'>> = {
  name: 'slow-view',
  needs: ['views'],
  labels: ['slow view'],
  known:
    'Rendering a page took 100 ms or longer from `render` to its callback, partials and all; each partial is timed too.',
  mends:
    'Render less: page what is long, prepare values before, keep compiled templates (`view cache`), and cache parts that seldom change.',
  find({ views: { views } }, { durationMs: wholeMs }) {
    return dearestFirst(
      views.flatMap(({ name, depth, durationMs, caller }, index) => {
        if (depth !== 0 || durationMs === null || durationMs < SLOW_MS) return [];
        const part = heaviest(views, index, durationMs);
        const most =
          part === null
            ? ''
            : `, ${duration(part.ms)} of it ${part.count === 1 ? '' : `${counted(part.count)} × `}${part.name.slice(0, 120)}`;
        const sentence = `${name.slice(0, 120)} took ${shareOf(durationMs, wholeMs)} to render${most}`;
        const common = { label: 'slow view', panel: 'views', anchor: `v${index + 1}` };
        return [placed({ ...common, severity: 'warn', sentence, costMs: durationMs }, caller)];
      }),
    );
  },
};
