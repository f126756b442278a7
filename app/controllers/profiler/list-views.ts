/** The saved views above the list, with their counts if counting is cheap. */
import type { ProfileQuery } from '../../profiler/storage.ts';
import { MOST_COUNTED } from '../../profiler/storage.ts';
import { urls } from '../../urls.ts';
import type { FilterName, FilterValues } from './typed-filters.ts';
import { isPresentation, readFilters } from './filters.ts';

interface SavedView {
  title: string;
  values: FilterValues;
  counted: boolean;
}

const VIEWS: readonly SavedView[] = [
  { title: 'All', values: {}, counted: true },
  { title: 'Errors', values: { has: 'error' }, counted: true },
  { title: '5xx', values: { status: '5xx' }, counted: true },
  { title: '4xx', values: { status: '4xx' }, counted: true },
  { title: 'Over 1 s', values: { over: '1000' }, counted: true },
  { title: 'N+1', values: { has: 'n+1' }, counted: true },
  { title: 'Pinned', values: { has: 'pin' }, counted: true },
  { title: 'Summaries', values: { has: 'summary' }, counted: true },
  { title: 'Jobs', values: { kind: 'job' }, counted: false },
  { title: 'Profiler’s own pages', values: { kind: 'profiler' }, counted: false },
];

const queryOf = ({ values }: SavedView): ProfileQuery =>
  readFilters(new URLSearchParams(values as Record<string, string>)).query;

export function viewQueries(): ProfileQuery[] {
  return VIEWS.filter(({ counted }) => counted).map(queryOf);
}

function isCurrent(view: FilterValues, values: FilterValues): boolean {
  const narrowing = (Object.keys(values) as FilterName[]).filter((name) => !isPresentation(name));
  const names = Object.keys(view) as FilterName[];
  return (
    narrowing.length === names.length && names.every((name) => values[name]?.toLowerCase() === view[name])
  );
}

export function createViews(values: FilterValues, counts: readonly (number | null)[]) {
  const left = [...counts];
  return VIEWS.map((view) => {
    const count = view.counted ? (left.shift() ?? null) : null;
    return {
      title: view.title,
      href: Object.keys(view.values).length === 0 ? urls.home() : urls.search(view.values),
      current: isCurrent(view.values, values),
      /** Shown as `2,000+` if there are more; null if it was not counted. */
      count: count === null ? null : { number: Math.min(count, MOST_COUNTED), more: count > MOST_COUNTED },
    };
  });
}
