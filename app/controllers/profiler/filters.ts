/**
 * GET parameters of the list -> a checked query, and back into addresses. Each parameter may stand once; an empty one
 * counts as absent; a value that can't be meant is a BAD_FILTER that says what is expected. Unknown names are ignored.
 *
 * Names a user of Symfony's search types are understood too: status_code, start, end.
 */
import { createError } from '../../errors.ts';
import type { ProfileKind } from '../../profiler/context.ts';
import { SORTS } from '../../profiler/profile-index.ts';
import type { ProfileQuery } from '../../profiler/storage.ts';

/** In the order of a permanent link. */
export const FILTER_NAMES = [
  'q', 'text', 'url', 'method', 'status', 'ip', 'token', 'since', 'from', 'until', 'over', 'queries', 'has', 'mark', 'kind', 'process',
  'route', 'sort', 'order', 'limit', 'page',
] as const; // prettier-ignore
export type FilterName = (typeof FILTER_NAMES)[number];
export type FilterValues = Partial<Record<FilterName, string>>;

/** What narrows nothing. */
const PRESENTATION = new Set<string>(['sort', 'order', 'limit', 'page']);

export function isPresentation(name: string): boolean {
  return PRESENTATION.has(name);
}

export interface Filters {
  /** As typed, cleaned of spaces; what the form is filled with. */
  values: FilterValues;
  query: ProfileQuery;
  page: number;
}

const ALIASES: Readonly<Record<string, FilterName>> = { status_code: 'status', start: 'from', end: 'until' };
/** As many as stay below 60 KB, each with an error and its error page. */
const DEFAULT_LIMIT = 25;
const MOST_ROWS = 200;
/** Deeper pages are better reached by a filter. */
const DEEPEST_OFFSET = 1_000_000;
const LONGEST_VALUE = 2000;
const DAY = 24 * 3_600_000;
const MOMENT = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d(?:\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)?)?$/;
const KINDS: Readonly<Record<string, readonly ProfileKind[]>> = {
  request: ['request'],
  error_page: ['error_page'],
  profiler: ['profiler'],
  all: ['request', 'error_page', 'profiler'],
};
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Milliseconds back from now; null: whatever is kept. */
const SPANS: Readonly<Record<string, number | null>> = {
  '15m': 15 * MINUTE,
  '1h': HOUR,
  '6h': 6 * HOUR,
  '24h': DAY,
  '7d': 7 * DAY,
  all: null,
};
const HAS: Readonly<Record<string, Partial<ProfileQuery>>> = {
  error: { hasError: true },
  'no-error': { hasError: false },
  finding: { hasFinding: true },
  'no-finding': { hasFinding: false },
  'n+1': { mark: 'N+1' },
  'slow-query': { mark: 'slow query' },
  'slow-call': { mark: 'slow call' },
  pin: { pinned: true },
};

function bad(name: string, problem: string): Error {
  return createError('BAD_FILTER', [name, problem]);
}

function nameOf(name: string): FilterName | undefined {
  const alias = Object.hasOwn(ALIASES, name) ? ALIASES[name] : name;
  return FILTER_NAMES.find((known) => known === alias);
}

/** A parameter that may stand once and holds plain text; null where it is absent. */
export function readOne(query: URLSearchParams, name: string): string | null {
  if (query.has(`${name}[]`) || [...query.keys()].some((key) => key.startsWith(`${name}[`)))
    throw bad(name, 'holds one value, not a list');
  const values = query.getAll(name);
  if (values.length > 1) throw bad(name, 'is given more than once');
  const value = values[0] ?? null;
  if (value !== null && value.length > LONGEST_VALUE)
    throw bad(name, `is longer than ${LONGEST_VALUE} characters`);
  return value;
}

function readValues(query: URLSearchParams): FilterValues {
  const values: FilterValues = {};
  for (const key of new Set(query.keys())) {
    const plain = key.replace(/\[.*$/s, '');
    const name = nameOf(plain);
    if (name === undefined) continue;
    const value = readOne(query, plain)?.trim() ?? '';
    if (value === '') continue;
    if (values[name] !== undefined) throw bad(name, 'is given more than once');
    values[name] = value;
  }
  return values;
}

function readStatus(text: string): NonNullable<ProfileQuery['status']> {
  const byClass = /^([1-5])(xx)?$/i.exec(text);
  if (byClass !== null) return { class: Number(byClass[1]) };
  if (/^[1-5]\d\d$/.test(text)) return Number(text);
  throw bad('status', `is "${text}"; give a status such as 404, or a class such as 4xx`);
}

/** `2026-11-20`, `2026-11-20 14:32`, `2026-11-20T14:32:07Z`: the moment, and the width of what was left open. */
function readMoment(name: string, text: string): { at: number; width: number } {
  // The plus of an offset arrives as a space where it was not encoded.
  const plain = MOMENT.exec(text.replace(/(:\d\d(?:\.\d{1,3})?) (?=\d\d:\d\d$)/, '$1+'));
  if (plain !== null) {
    const [, day = '', minute, second = '', zone = 'Z'] = plain;
    const at = Date.parse(`${day}T${minute ?? '00:00'}${second}${zone}`);
    // Date.parse takes 30 February for 2 March; such a day is a mistake.
    const sameDay = new Date(`${day}T00:00:00Z`);
    if (!Number.isNaN(at) && !Number.isNaN(sameDay.getTime()) && sameDay.toISOString().startsWith(day))
      return { at, width: minute === undefined ? DAY : second === '' ? 60_000 : 1000 };
  }
  throw bad(name, `is "${text}"; give a day such as 2026-11-20, or a moment such as 2026-11-20T14:32 (UTC)`);
}

function readNumber(name: string, text: string, most: number): number {
  const value = Number(text);
  if (!/^\d+(\.\d+)?$/.test(text) || value > most)
    throw bad(name, `is "${text}"; give a number from 0 to ${most}`);
  return value;
}

function readCount(name: string, text: string | undefined, fallback: number, most: number): number {
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1) throw bad(name, `is "${text}"; give a whole number from 1`);
  return Math.min(value, most);
}

function readChoice<T>(name: string, text: string, choices: Readonly<Record<string, T>>): T {
  const choice = Object.hasOwn(choices, text.toLowerCase()) ? choices[text.toLowerCase()] : undefined;
  if (choice === undefined) throw bad(name, `is "${text}"; give one of ${Object.keys(choices).join(', ')}`);
  return choice;
}

/** What was typed into the one box at the top: part of a URL where it looks like one, else a text. */
function readTyped(typed: string): Partial<ProfileQuery> {
  const address = typed.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '');
  return address.startsWith('/') ? { url: address.replace(/#.*$/s, '') } : { text: typed };
}

/** The later of two moments of which either may be absent. */
function readStart(values: FilterValues, now: number): number | undefined {
  const span = values.since === undefined ? null : readChoice('since', values.since, SPANS);
  const from = values.from === undefined ? undefined : readMoment('from', values.from).at;
  if (span === null) return from;
  return Math.max(from ?? -Infinity, now - span);
}

/** Filters that narrow the list, without order and paging. */
function readNarrowing(values: FilterValues, now: number): Partial<ProfileQuery> {
  const narrowing: Partial<ProfileQuery> = {
    ...(values.q === undefined ? {} : readTyped(values.q)),
    ...(values.has === undefined ? {} : readChoice('has', values.has, HAS)),
  };
  if (values.url !== undefined) narrowing.url = values.url;
  if (values.text !== undefined) narrowing.text = values.text;
  if (values.mark !== undefined) narrowing.mark = values.mark;
  if (values.method !== undefined && values.method !== 'any') narrowing.method = values.method;
  if (values.status !== undefined && values.status !== 'any') narrowing.status = readStatus(values.status);
  if (values.ip !== undefined) narrowing.clientAddress = values.ip;
  if (values.token !== undefined) narrowing.token = values.token.toLowerCase();
  const start = readStart(values, now);
  if (start !== undefined) narrowing.from = start;
  if (values.until !== undefined) {
    const { at, width } = readMoment('until', values.until);
    narrowing.until = at + width;
  }
  if (values.over !== undefined) narrowing.overMs = readNumber('over', values.over, 1e9);
  if (values.queries !== undefined) narrowing.minQueries = readNumber('queries', values.queries, 1e9);
  if (values.kind !== undefined) narrowing.kinds = readChoice('kind', values.kind, KINDS);
  if (values.process !== undefined) narrowing.process = values.process;
  if (values.route !== undefined) narrowing.route = values.route;
  return narrowing;
}

/** `now`: what `since` counts back from. */
export function readFilters(query: URLSearchParams, now: number = Date.now()): Filters {
  const values = readValues(query);
  const limit = readCount('limit', values.limit, DEFAULT_LIMIT, MOST_ROWS);
  const page = readCount('page', values.page, 1, Math.floor(DEEPEST_OFFSET / limit));
  const sort = readChoice('sort', values.sort ?? 'at', SORTS);
  const order = readChoice('order', values.order ?? 'desc', { asc: false, desc: true });
  return {
    values,
    page,
    query: { ...readNarrowing(values, now), sort, descending: order, limit, offset: (page - 1) * limit },
  };
}

/** True where nothing but a token was asked for. */
export function isTokenAlone({ values }: Filters): boolean {
  return (
    values.token !== undefined && Object.keys(values).every((name) => name === 'token' || name === 'limit')
  );
}

/** Parameters of an address that shows the same with some filters changed; undefined takes one away. */
export function withFilters(
  values: FilterValues,
  changes: Partial<Record<FilterName, string | undefined>>,
): Record<string, string | undefined> {
  const merged: Record<string, string | undefined> = {};
  for (const name of FILTER_NAMES) merged[name] = name in changes ? changes[name] : values[name];
  return merged;
}
