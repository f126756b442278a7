/**
 * What is typed into the search box <-> filters of the list: `status:5xx route:/orders time>500 has:n+1 since:10m timeout`. Words that
 * name no filter are searched for as they stand. Quotes hold a value with spaces together, and keep a word from being a filter.
 */
import type { FilterName, FilterValues } from './filter-names.ts';

/** What a filter is called in the box, in the order in which filters are written. */
const WRITTEN: readonly (readonly [word: string, name: FilterName])[] = [
  ['method:', 'method'],
  ['status:', 'status'],
  ['route:', 'route'],
  ['url:', 'url'],
  ['time>', 'over'],
  ['queries>=', 'queries'],
  ['has:', 'has'],
  ['finding:', 'mark'],
  ['kind:', 'kind'],
  ['process:', 'process'],
  ['release:', 'release'],
  ['ip:', 'ip'],
  ['token:', 'token'],
  ['trace:', 'trace'],
  ['since:', 'since'],
  ['from:', 'from'],
  ['until:', 'until'],
  ['text:', 'text'],
];

/** What else is understood. */
const ALSO: typeof WRITTEN = [
  ['slow>', 'over'],
  ['over>', 'over'],
  ['mark:', 'mark'],
];
const FILTERS: ReadonlyMap<string, FilterName> = new Map([...WRITTEN, ...ALSO]);

/** A name with a value, quoted text, or another word. */
const WORD = /([a-z]+(?:>=|:|>))("[^"]*"|[^\s"]+)(?!\S)|"[^"]*"|\S+/gi;

export interface TypedFilters {
  /** In the order in which they were typed; a name may occur twice. */
  filters: readonly (readonly [name: FilterName, value: string])[];
  /** The other words. */
  rest: string;
}

export function readTypedFilters(typed: string): TypedFilters {
  const filters: [FilterName, string][] = [];
  const rest = typed.replace(WORD, (word: string, name?: string, value?: string) => {
    const filter = FILTERS.get(name?.toLowerCase() ?? '');
    if (filter === undefined || value === undefined) return word;
    filters.push([filter, value.replaceAll('"', '')]);
    return '';
  });
  return { filters, rest: filters.length === 0 ? typed : rest.trim().replace(/\s{2,}/g, ' ') };
}

/** Which of the filters needs no name: it is read from the other words. */
function plainName({ q, text, url }: FilterValues): FilterName | null {
  const isPlain = (value: string): boolean => readTypedFilters(value).filters.length === 0;
  if (q !== undefined) return 'q';
  if (text !== undefined && isPlain(text) && !text.startsWith('/')) return 'text';
  if (url !== undefined && isPlain(url) && url.startsWith('/')) return 'url';
  return null;
}

/** The search box for a list: reading it gives the same filters, but for quotation marks in a value, order and paging. */
export function writeTypedFilters(values: FilterValues): string {
  const plain = plainName(values);
  const words = WRITTEN.flatMap(([word, name]) => {
    const value = values[name]?.replaceAll('"', ' ');
    if (value === undefined || name === plain) return [];
    return [`${word}${/\s/.test(value) ? `"${value}"` : value}`];
  });
  if (plain !== null) words.push(values[plain] ?? '');
  return words.join(' ');
}
