/**
 * What is typed into the search box <-> filters of the list: `status>=400 -route:/health time>500 has:n+1 since:10m timeout`. Words that
 * name no filter are searched for as they stand. Quotes hold a value with spaces together, and keep a word from being a filter; a minus
 * in front of a filter leaves out what it finds.
 */
import { editDistance } from '../../../profiler/edit-distance.ts';

export const FILTER_NAMES = [
  'q', 'text', 'url', 'method', 'status', 'ip', 'token', 'since', 'from', 'until', 'over', 'under', 'queries', 'fewer', 'has', 'mark', 'kind', 'process', 'release',
  'route', 'trace', 'not', 'sort', 'order', 'limit', 'page', 'skip',
] as const; // prettier-ignore
export type FilterName = (typeof FILTER_NAMES)[number];
export type FilterValues = Partial<Record<FilterName, string>>;

const WRITTEN: readonly (readonly [word: string, name: FilterName])[] = [
  ['method:', 'method'],
  ['status:', 'status'],
  ['route:', 'route'],
  ['url:', 'url'],
  ['time>', 'over'],
  ['time<', 'under'],
  ['queries>=', 'queries'],
  ['queries<', 'fewer'],
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

const ALSO: readonly (readonly [word: string, name: FilterName, read?: (value: string) => string])[] = [
  ['slow>', 'over'],
  ['over>', 'over'],
  ['mark:', 'mark'],
  ['time>=', 'over'],
  ['time<=', 'under'],
  ['queries>', 'queries', oneMore],
  ['queries<=', 'fewer', oneMore],
  ['queries:', 'queries'],
  ['status>', 'status', (value) => `>${value}`],
  ['status>=', 'status', (value) => `>=${value}`],
  ['status<', 'status', (value) => `<${value}`],
  ['status<=', 'status', (value) => `<=${value}`],
];
const FILTERS = new Map([...WRITTEN, ...ALSO].map(([word, name, read]) => [word, { name, read }]));

const WORD = /(-?)([a-z]+(?:[<>]=?|:))("[^"]*"|[^\s"]+)(?!\S)|"[^"]*"|\S+/gi;
const LIKE_FILTER = /^-?([a-z]{2,}(?:[<>]=?|:))(?!\/\/)/i;
const DIFFERENT = 2;

function oneMore(value: string): string {
  return /^\d+$/.test(value) ? String(Number(value) + 1) : value;
}

export interface TypedFilters {
  filters: readonly (readonly [name: FilterName, value: string])[];
  rest: string;
}

export function readTypedFilters(typed: string): TypedFilters {
  const filters: [FilterName, string][] = [];
  const rest = typed.replace(WORD, (word: string, minus?: string, name?: string, given?: string) => {
    const filter = FILTERS.get(name?.toLowerCase() ?? '');
    if (filter === undefined || given === undefined) return word;
    const plain = given.replaceAll('"', '');
    if (minus === '') filters.push([filter.name, filter.read?.(plain) ?? plain]);
    else filters.push(['not', `${name?.toLowerCase() ?? ''}${given}`]);
    return '';
  });
  return { filters, rest: filters.length === 0 ? typed : rest.trim().replace(/\s{2,}/g, ' ') };
}

export function explainWords(typed: string): string[] {
  return typed.split(/\s+/).flatMap((word) => {
    const name = LIKE_FILTER.exec(word)?.[1]?.toLowerCase();
    if (name === undefined) return [];
    if (FILTERS.has(name)) return [`“${name}” needs a value; it was searched for as text.`];
    const bare = name.replace(/\W+$/, '');
    const near = [...FILTERS.keys()].find(
      (known) =>
        editDistance(bare, known.replace(/\W+$/, ''), DIFFERENT) <= (bare.length > 3 ? DIFFERENT : 1),
    );
    const advice = near === undefined ? '' : ` Did you mean “${near}”?`;
    return [`“${name}” is no filter, so “${word.slice(0, 60)}” was searched for as text.${advice}`];
  });
}

function plainName({ q, text, url }: FilterValues): FilterName | null {
  const isPlain = (value: string): boolean => readTypedFilters(value).filters.length === 0;
  if (q !== undefined) return 'q';
  if (text !== undefined && isPlain(text) && !text.startsWith('/')) return 'text';
  if (url !== undefined && isPlain(url) && url.startsWith('/')) return 'url';
  return null;
}

function negated(text: string): string {
  return text.replace(WORD, (word) => `-${word}`);
}

export function writeTypedFilters(values: FilterValues): string {
  const plain = plainName(values);
  const words = WRITTEN.flatMap(([word, name]) => {
    const value = values[name]?.replaceAll('"', ' ');
    if (value === undefined || name === plain) return [];
    const named = name === 'status' && /^[<>]/.test(value) ? word.slice(0, -1) : word;
    return [`${named}${/\s/.test(value) ? `"${value}"` : value}`];
  });
  if (values.not !== undefined) words.push(negated(values.not));
  if (plain !== null) words.push(values[plain] ?? '');
  return words.join(' ');
}
