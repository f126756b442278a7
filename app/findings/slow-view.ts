/** A page that was slow to render. */
import type { FindingRule } from '../profiler/finding-rule.ts';
import type { Kept } from './shared/kept.ts';
import { lengthOf, usualText } from './shared/long.ts';
import { count, duration, shareOf } from './shared/wording.ts';

const SLOW_MS = 100;

type View = Kept['views']['views'][number];

/** The partial that took at least half of the rendering, all its uses together; null if none did. */
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
  why: 'Rendering took at least 100 ms from `render` to its callback, or half of a request that took three times as long as its route usually does. With EJS, Handlebars and Eta each partial is timed too.',
  fix: 'Render less: paginate long lists, compute values beforehand, reuse compiled templates (`view cache`), and cache parts that rarely change.',
  find({ views: { views } }, { durationMs: wholeMs }, from) {
    const { usualMs } = from;
    return views.flatMap(({ name, depth, startMs, durationMs, caller }, index) => {
      if (depth !== 0 || durationMs === null) return [];
      if (lengthOf(durationMs, wholeMs, { longMs: SLOW_MS, usualMs }) === null) return [];
      // What else owned its time has findings of its own.
      if (from.time.ownedMs({ startMs, durationMs }, ['view']) < durationMs / 2) return [];
      const isUnusual = durationMs < SLOW_MS;
      const part = heaviest(views, index, durationMs);
      const most =
        part === null
          ? ''
          : `, ${duration(part.ms)} of it in ${part.count === 1 ? '' : `${count(part.count)} × `}${part.name.slice(0, 120)}`;
      const sentence = `${name.slice(0, 120)} took ${shareOf(durationMs, wholeMs)} to render${most}${isUnusual ? usualText(usualMs) : ''}`;
      const severity = isUnusual ? 'info' : 'warn';
      return [{ severity, sentence, anchor: `v${index + 1}`, costMs: durationMs, place: caller }];
    });
  },
};
