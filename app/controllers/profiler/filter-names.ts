/** Names of the list's filters. */

/** In the order of a permanent link. */
export const FILTER_NAMES = [
  'q', 'text', 'url', 'method', 'status', 'ip', 'token', 'since', 'from', 'until', 'over', 'under', 'queries', 'fewer', 'has', 'mark', 'kind', 'process', 'release',
  'route', 'trace', 'not', 'sort', 'order', 'limit', 'page', 'skip',
] as const; // prettier-ignore
export type FilterName = (typeof FILTER_NAMES)[number];
export type FilterValues = Partial<Record<FilterName, string>>;
