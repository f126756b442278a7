/**
 * GET parameters of the list <-> a checked query. An empty parameter counts as absent, an invalid or repeated one is a
 * BAD_FILTER that says what is expected, unknown names are ignored.
 */
import { createError } from '../../../errors.ts';
import { PROFILE_KINDS } from '../../../profiler/record/context.ts';
import { storedRelease } from '../../../profiler/release.ts';
import { SORTS } from '../../../profiler/store/profile-index.ts';
import type { ProfileQuery, StatusRange } from '../../../profiler/store/storage.ts';
import { FILTER_NAMES, type FilterName, type FilterValues, readTypedFilters } from './typed-filters.ts';

const PRESENTATION = ['sort', 'order', 'limit', 'page', 'skip'];

export function isPresentation(name: string): boolean {
  return PRESENTATION.includes(name);
}

export interface Filters {
  values: FilterValues;
  query: ProfileQuery;
  page: number;
}

const DEFAULT_LIMIT = 25;
const MOST_ROWS = 200;
const DEEPEST_OFFSET = 1_000_000;
const LONGEST_VALUE = 2000;
const DAY = 24 * 3_600_000;
const MOMENT = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d(?:\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)?)?$/;
const KINDS: Readonly<Record<string, Partial<ProfileQuery>>> = {
  request: { kinds: ['request'] },
  asset: { kinds: ['request'], isAsset: true },
  error_page: { kinds: ['error_page'] },
  profiler: { kinds: ['profiler'] },
  job: { kinds: ['job'] },
  command: { kinds: ['command'] },
  all: { kinds: PROFILE_KINDS },
};
/** Filters that ask for certain requests; without one, and without a kind, assets of pages are left out. */
const ASKED_FOR: readonly FilterName[] = ['q', 'text', 'url', 'token', 'route', 'trace', 'kind'];
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const UNITS: Readonly<Record<string, number>> = { m: MINUTE, h: HOUR, d: DAY };
export const HAS: Readonly<Record<string, Partial<ProfileQuery>>> = {
  error: { hasError: true },
  'no-error': { hasError: false },
  finding: { hasFinding: true },
  'no-finding': { hasFinding: false },
  'n+1': { mark: 'N+1' },
  'slow-query': { mark: 'slow query' },
  'slow-call': { mark: 'slow call' },
  full: { isFull: true },
  summary: { isFull: false },
  pin: { pinned: true },
};

interface FilterError extends Error {
  filter: { name: string; problem: string };
}

export function badFilter(name: string, problem: string): FilterError {
  return Object.assign(createError('BAD_FILTER', [name, problem]), { filter: { name, problem } });
}

export function isFilterError(error: unknown): error is FilterError {
  return error instanceof Error && 'filter' in error;
}

function nameOf(name: string): FilterName | undefined {
  return FILTER_NAMES.find((listed) => listed === name);
}

export function readOne(query: URLSearchParams, name: string): string | null {
  if (query.has(`${name}[]`) || [...query.keys()].some((key) => key.startsWith(`${name}[`)))
    throw badFilter(name, 'takes one value, not a list');
  const values = query.getAll(name);
  if (values.length > 1) throw badFilter(name, 'is given more than once');
  const value = values[0] ?? null;
  if (value !== null && value.length > LONGEST_VALUE)
    throw badFilter(name, `is longer than ${LONGEST_VALUE} characters`);
  return value;
}

/** The panel that the address names. Security was a panel: its headers and cookies are on that of the request. */
export function readPanelName(query: URLSearchParams): string | null {
  const name = readOne(query, 'panel');
  return name === 'security' ? 'request' : name;
}

function readValues(query: URLSearchParams): FilterValues {
  const values: FilterValues = {};
  for (const key of new Set(query.keys())) {
    const plain = key.replace(/\[.*$/s, '');
    const name = nameOf(plain);
    if (name === undefined) continue;
    const value = readOne(query, plain)?.trim() ?? '';
    if (value === '') continue;
    if (values[name] !== undefined) throw badFilter(name, 'is given more than once');
    values[name] = value;
  }
  return withTyped(values);
}

function withTyped({ q, ...given }: FilterValues): FilterValues {
  if (q === undefined) return given;
  const { filters, rest } = readTypedFilters(q);
  const values: FilterValues = rest === '' ? given : { q: rest, ...given };
  for (const [name, value] of filters) {
    const before = values[name];
    if (before !== undefined && name !== 'not') throw badFilter(name, 'is given more than once');
    values[name] = before === undefined ? value : `${before} ${value}`;
  }
  return values;
}

function readRange(text: string): StatusRange | null {
  const [, operator, number] = /^([<>]=?|)([1-5]\d\d|[1-5](?:xx)?)$/i.exec(text) ?? [];
  if (number === undefined) return null;
  const first = Number(number.replace(/xx/i, ''));
  const [from, to] = first < 10 ? [first * 100, first * 100 + 99] : [first, first];
  switch (operator) {
    case '>':
      return { from: to + 1, to: 599 };
    case '>=':
      return { from, to: 599 };
    case '<':
      return { from: 100, to: from - 1 };
    case '<=':
      return { from: 100, to };
    default:
      return { from, to };
  }
}

function readStatus(text: string): readonly StatusRange[] {
  return text.split(',').map((part) => {
    const range = readRange(part.trim());
    if (range !== null) return range;
    const ways = 'give a status such as 404, a class such as 4xx, a list such as 404,500, or >=400';
    throw badFilter('status', `is "${text}"; ${ways}`);
  });
}

const NEGATED = new Set<FilterName>([
  'method', 'status', 'route', 'url', 'mark', 'has', 'process', 'release', 'ip', 'over', 'under', 'queries', 'fewer',
]); // prettier-ignore

function readNegated(text: string, now: number): Partial<ProfileQuery>[] {
  const { filters, rest } = readTypedFilters(text);
  if (rest !== '') throw badFilter('not', `is "${text}"; give filters such as status:200`);
  return filters.map(([name, value]) => {
    if (!NEGATED.has(name) || (name === 'has' && value.toLowerCase() === 'pin'))
      throw badFilter('not', `is "${text}"; "${name}" can’t be negated`);
    return readNarrowing({ [name]: value }, now);
  });
}

/** `2026-11-20`, `2026-11-20 14:32`, `2026-11-20T14:32:07Z`: the moment, and the length of its day, minute or second. */
function readMoment(name: string, text: string): { at: number; width: number } {
  // An unencoded plus of an offset arrives as a space.
  const plain = MOMENT.exec(text.replace(/(:\d\d(?:\.\d{1,3})?) (?=\d\d:\d\d$)/, '$1+'));
  if (plain !== null) {
    const [, day = '', minute, second = '', zone = 'Z'] = plain;
    const at = Date.parse(`${day}T${minute ?? '00:00'}${second}${zone}`);
    // Date.parse reads 30 February as 2 March.
    const sameDay = new Date(`${day}T00:00:00Z`);
    if (!Number.isNaN(at) && !Number.isNaN(sameDay.getTime()) && sameDay.toISOString().startsWith(day))
      return { at, width: minute === undefined ? DAY : second === '' ? 60_000 : 1000 };
  }
  throw badFilter(
    name,
    `is "${text}"; give a day such as 2026-11-20, or a moment such as 2026-11-20T14:32 (UTC)`,
  );
}

function readNumber(name: string, text: string, most: number): number {
  const value = Number(text);
  if (!/^\d+(\.\d+)?$/.test(text) || value > most)
    throw badFilter(name, `is "${text}"; give a number from 0 to ${most}`);
  return value;
}

export function readCount(name: string, text: string | undefined, fallback: number, most: number): number {
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1) throw badFilter(name, `is "${text}"; give a whole number from 1`);
  return Math.min(value, most);
}

export function readChoice<T>(name: string, text: string, choices: Readonly<Record<string, T>>): T {
  const choice = Object.hasOwn(choices, text.toLowerCase()) ? choices[text.toLowerCase()] : undefined;
  if (choice === undefined)
    throw badFilter(name, `is "${text}"; give one of ${Object.keys(choices).join(', ')}`);
  return choice;
}

function readTyped(typed: string): Partial<ProfileQuery> {
  const address = typed.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '');
  // Quotes keep a word from being a filter; they are not part of the text.
  return address.startsWith('/')
    ? { url: address.replace(/#.*$/s, '') }
    : { text: typed.replaceAll(/(?<!\S)"([^"]+)"(?!\S)/g, '$1') };
}

function readSpan(text: string): number | null {
  if (text.toLowerCase() === 'all') return null;
  const [, count, unit = ''] = /^(\d{1,4})([mhd])$/i.exec(text) ?? [];
  const ms = UNITS[unit.toLowerCase()];
  if (ms === undefined) throw badFilter('since', `is "${text}"; give a span such as 15m, 6h or 7d, or all`);
  return Number(count) * ms;
}

function readStart(values: FilterValues, now: number): number | undefined {
  const span = values.since === undefined ? null : readSpan(values.since);
  const from = values.from === undefined ? undefined : readMoment('from', values.from).at;
  if (span === null) return from;
  return Math.max(from ?? -Infinity, now - span);
}

const MOST_NUMBER = 1e9;

const READERS: Partial<Record<FilterName, (value: string, now: number) => Partial<ProfileQuery>>> = {
  q: readTyped,
  text: (text) => ({ text }),
  url: (url) => ({ url }),
  method: (method) => (method === 'any' ? {} : { method }),
  status: (status) => (status === 'any' ? {} : { status: readStatus(status) }),
  ip: (clientAddress) => ({ clientAddress }),
  token: (token) => ({ token: token.toLowerCase() }),
  until(moment) {
    const { at, width } = readMoment('until', moment);
    return { until: at + width };
  },
  over: (ms) => ({ overMs: readNumber('over', ms, MOST_NUMBER) }),
  under: (ms) => ({ underMs: readNumber('under', ms, MOST_NUMBER) }),
  queries: (count) => ({ minQueries: readNumber('queries', count, MOST_NUMBER) }),
  fewer: (count) => ({ fewerQueries: readNumber('fewer', count, MOST_NUMBER) }),
  has: (word) => readChoice('has', word, HAS),
  mark: (mark) => ({ mark }),
  kind: (kind) => readChoice('kind', kind, KINDS),
  process: (process) => ({ process }),
  release: (release) => ({ release: storedRelease(release) }),
  route: (route) => ({ route }),
  trace: (traceId) => ({ traceId: traceId.toLowerCase() }),
  not: (text, now) => ({ not: readNegated(text, now) }),
};

function readNarrowing(values: FilterValues, now: number): Partial<ProfileQuery> {
  const narrowing: Partial<ProfileQuery> = {};
  for (const name of FILTER_NAMES) {
    const value = values[name];
    if (value !== undefined) Object.assign(narrowing, READERS[name]?.(value, now));
  }
  const start = readStart(values, now);
  return start === undefined ? narrowing : { ...narrowing, from: start };
}

export function readFilters(query: URLSearchParams, now: number = Date.now()): Filters {
  const values = readValues(query);
  const limit = readCount('limit', values.limit, DEFAULT_LIMIT, MOST_ROWS);
  const page = readCount('page', values.page, 1, Math.floor(DEEPEST_OFFSET / limit));
  const skip = readCount('skip', values.skip, (page - 1) * limit, DEEPEST_OFFSET);
  const sort = readChoice('sort', values.sort ?? 'at', SORTS);
  const order = readChoice('order', values.order ?? 'desc', { asc: false, desc: true });
  return {
    values,
    page,
    query: {
      ...readNarrowing(values, now),
      ...(ASKED_FOR.some((name) => values[name] !== undefined) ? {} : { isAsset: false }),
      sort,
      descending: order,
      limit,
      offset: skip,
    },
  };
}

export type WrongFilters = Readonly<Partial<Record<FilterName, { given: string; problem: string }>>>;

function takeOut(query: URLSearchParams, name: string): string | null {
  const given: string[] = [];
  for (const key of new Set(query.keys())) {
    const plain = key.replace(/\[.*$/s, '');
    if (plain !== name && nameOf(plain) !== name) continue;
    given.push(...query.getAll(key));
    query.delete(key);
  }
  const { filters, rest } = readTypedFilters(query.get('q') ?? '');
  const others = filters.filter(([typed]) => typed !== name);
  if (others.length < filters.length) {
    query.set('q', rest);
    for (const [other, value] of others) query.append(other, value);
    given.push(...filters.filter(([typed]) => typed === name).map(([, value]) => value));
  }
  return given.length === 0 ? null : given.join(' ');
}

export function readValidFilters(query: URLSearchParams): {
  filters: Filters;
  wrong: WrongFilters;
} {
  const valid = new URLSearchParams(query);
  const wrong: { -readonly [Name in FilterName]?: WrongFilters[Name] } = {};
  for (;;) {
    try {
      return { filters: readFilters(valid), wrong };
    } catch (error) {
      if (!isFilterError(error)) throw error;
      const name = nameOf(error.filter.name);
      const given = name === undefined ? null : takeOut(valid, name);
      if (name === undefined || given === null) throw error;
      wrong[name] = { given, problem: error.filter.problem };
    }
  }
}

/** Whether requests are folded into visits and new ones appear live: a text search is too slow for that. */
export function isNewestFirst({ query }: Filters): boolean {
  return query.sort === 'startedAt' && query.descending === true && query.text === undefined;
}

export function isTokenAlone({ values }: Filters): boolean {
  return (
    values.token !== undefined && Object.keys(values).every((name) => name === 'token' || name === 'limit')
  );
}

export function withFilters(
  values: FilterValues,
  changes: Partial<Record<FilterName, string | undefined>>,
): Record<string, string | undefined> {
  const merged: Record<string, string | undefined> = {};
  for (const name of FILTER_NAMES) merged[name] = name in changes ? changes[name] : values[name];
  return merged;
}
