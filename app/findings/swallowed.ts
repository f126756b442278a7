/** Outgoing calls that say less than was meant, or whose response says more than was used. */
import { hasFailed } from '../panels/shared/failed-call.ts';
import { leavesOf } from '../panels/shared/json-leaves.ts';
import { receivedFields } from '../panels/shared/received.ts';
import type { KeptRequest } from '../panels/request/data.ts';
import { isRecord, type Json, parseJson } from '../profiler/json.ts';
import { namedHeader } from '../profiler/record/raw-headers.ts';
import { pathOf } from '../profiler/request-target.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import { callName, tellsOf, triesOf } from './shared/calls.ts';
import { type Call, endOf, type Needs, type Rule } from './shared/kept.ts';
import { count, excerpt, isPartial } from './shared/wording.ts';

type Given = Needs<'http_client', 'request' | 'cache'>;

/** It is not there, it is there already, or it has changed: code often asks to learn that. */
const EXPECTED = new Set([404, 409, 410, 412]);

/** Without its host: another one may be a mirror. */
function pathIn({ url }: Call): string {
  return pathOf(url.replace(/^[a-z]+:\/\/[^/?#]*/i, ''));
}

function hasHeader(headers: readonly { name: string }[], pattern: RegExp): boolean {
  return headers.some(({ name }) => pattern.test(name));
}

/** Whether a refusal says that the caller did something wrong, not that the visitor may not. */
function isRefusal(call: Call, request: KeptRequest | undefined): boolean {
  const { status, requestHeaders } = call;
  // A failure has its own rule.
  if (hasFailed(call) || status === null || status < 400 || status >= 500 || EXPECTED.has(status))
    return false;
  const isOwnKey =
    hasHeader(requestHeaders, /^(?:authorization|x-api-key)$/i) &&
    !hasHeader(request?.headers ?? [], /^(?:authorization|cookie|x-api-key)$/i);
  return (status !== 401 && status !== 403) || isOwnKey;
}

const refusalIgnored: Rule<Given> = {
  name: 'refusal-ignored',
  needs: ['http_client'],
  labels: ['refusal ignored'],
  why: 'The call got a 4xx other than 404, 409, 410, 412 and 429 (401 and 403 count with a key of the application). No later call to the path succeeded, and the response is a 2xx that mentions no failure.',
  fix: 'Check the status before you use the body: `if (!response.ok) throw …`; axios throws by itself unless `validateStatus` forbids it.',
  find({ http_client: { calls }, request, cache }, { status: sent }) {
    const text = request?.response?.text ?? null;
    if (sent === null || sent < 200 || sent >= 300 || isPartial(sent) || text === null) return [];
    // Retried calls have their own rule.
    const retried = new Set(triesOf(calls).flat());
    return calls.flatMap((call, index): FindingDraft[] => {
      const { status, caller: place } = call;
      if (status === null || retried.has(index) || !isRefusal(call, request)) return [];
      const isReplaced =
        calls.some(
          (later) =>
            later.startMs >= endOf(call) &&
            later.status !== null &&
            later.status < 400 &&
            pathIn(later) === pathIn(call),
        ) || cache?.items.some(({ hits, startMs }) => (hits ?? 0) > 0 && startMs >= endOf(call)) === true;
      if (isReplaced || tellsOf(status, text)) return [];
      const sentence = `${callName(call)} was answered with ${status}, but this request still answered ${sent}`;
      return [{ broke: 'unseen', severity: 'warn', sentence, anchor: `c${index + 1}`, place }];
    });
  },
};

/** A value as it is in a query if nobody escapes it; null if that changes nothing, or was perhaps meant. */
function unescaped(value: string): { query: string; mark: '&' | '#' | '+' | '%' } | null {
  const mark = /[&#]/.exec(value)?.[0] ?? /\+|%(?![0-9a-f]{2})/i.exec(value)?.[0];
  // With `=`, it is perhaps a query itself.
  if (mark === undefined || value.length > 500 || /[=]|%[0-9a-f]{2}/i.test(value)) return null;
  const query = new URL(`http://localhost/?${value}`).search.slice(1);
  const isEmpty = query.split('&').some((part) => part.trim() === '');
  return isEmpty ? null : { query, mark: mark as '&' | '#' | '+' | '%' };
}

/** The parameter of an address that has this text as its value, unescaped. */
function parameterOf(url: string, query: string, isCut: boolean): string | null {
  const start = url.indexOf('?');
  if (start === -1) return null;
  const text = `&${url.slice(start + 1).replace(/#.*$/s, '')}&`;
  const at = text.indexOf(`=${query}&`);
  if (at === -1 || (isCut && at + query.length + 2 !== text.length)) return null;
  return /&([^&=]+)$/.exec(text.slice(0, at))?.[1] ?? null;
}

function becameOf(name: string, value: string, mark: '&' | '#' | '+' | '%'): string {
  const sent = `${excerpt(name, 40)}=${excerpt(value, 60)} was sent unescaped`;
  const [before = '', ...others] = value.split(mark).map((part) => excerpt(part.trim(), 40));
  if (mark === '+') return `${sent}, and a + in a query is read as a space`;
  if (mark === '%') return `${sent}, and a % in a query begins an escape`;
  const parameters = `, and ${others.length === 1 ? 'a parameter' : 'parameters'} ${others.join(' and ')}`;
  return `${sent}: the service reads ${excerpt(name, 40)}=${before}${mark === '&' ? parameters : ''}`;
}

const queryNotEscaped: Rule<Needs<'http_client' | 'request'>> = {
  name: 'query-not-escaped',
  needs: ['http_client', 'request'],
  labels: ['query not escaped'],
  why: 'The request brought a value with `&`, `#`, `+` or a lone `%`, and the query of the call has it as it is. `&` ends the parameter, `#` the address, and `+` is read as a space.',
  fix: 'Build the query with `new URLSearchParams({ q })` or the `params` of your client, or escape each value with `encodeURIComponent`.',
  find({ http_client: { calls }, request }, { url: own }) {
    if (calls.length === 0) return [];
    const values = receivedFields(request).flatMap(({ name, value }) => {
      const text = typeof value === 'string' ? value.trim() : '';
      const raw = unescaped(text);
      return raw === null || `${own}&`.includes(`=${raw.query}&`) ? [] : [{ name, text, ...raw }];
    });
    return calls.flatMap(({ url, caller: place }, index): FindingDraft[] => {
      for (const { name, text, query, mark } of values) {
        const isCut = mark === '#';
        const parameter = parameterOf(url, query, isCut);
        // It may be another value that begins in the same way.
        if (parameter === null || (isCut && parameter !== name)) continue;
        const sentence = becameOf(parameter, text, mark);
        return [{ broke: 'response', severity: 'warn', sentence, anchor: `c${index + 1}`, place }];
      }
      return [];
    });
  },
};

/** Names by which a call asks for a part. */
const PART =
  /[?&](?:page|per_?page|page_?size|size|limit|offset|skip|first|last|top|take|count|cursor|after|before|start|max|n)\b[^=&]*=/i;

/** The number of entries that it asks for at most, where its query asks for nothing else of a part. */
const LIMIT = /[?&](?:per_?page|page_?size|size|limit|first|top|take|max|n)=(\d{1,6})\b/i;

/** It asks for the first part. */
const FROM_START = /([?&])(?:offset|skip|start)=0&|&(?:offset|skip|start)=0\b|([?&])page=1&|&page=1\b/gi;

/** It asked for more entries than it got: the service has a limit of its own, and the part is not what was meant. */
function isCapped({ url: whole }: Call, got: number): boolean {
  const url = whole.replace(FROM_START, '$1$2');
  const [asked = '', limit] = LIMIT.exec(url) ?? [];
  return Number(limit ?? 0) > got && !PART.test(url.replace(asked, asked.startsWith('?') ? '?' : ''));
}

/** An average may be rounded. */
const ROUNDED = 0.05;

interface Received {
  entries: Json[];
  /** How many there are in all, as far as it says. */
  total: number | null;
  more: string | null;
}

const TOTAL = /^total(?:_?(?:count|items|results|entries))?$/i;
/** Without one of these beside it, `total` may be an amount of money. */
const PAGED = /^(?:page|pages|limit|offset|skip|per_?page|page_?size)$/i;
const NEXT = /(?:^|\.)(?:next|next_?(?:page|cursor|url|link|token)|has_?(?:more|next))$/i;

/** A list that was received, by itself or as the only list of an object; null if it was none, or is not known as a whole. */
function receivedOf({ responseBody, responseHeaders }: Call): Received | null {
  const value = parseJson(responseBody?.text ?? '') ?? null;
  if (typeof value !== 'object' || value === null) return null;
  const [list, ...others] = isRecord(value)
    ? Object.entries(value).filter(([, one]) => Array.isArray(one))
    : [];
  const entries = Array.isArray(value)
    ? value
    : others.length === 0
      ? (list?.[1] as Json[] | undefined)
      : undefined;
  if (entries === undefined) return null;
  const about = leavesOf(Array.isArray(value) ? null : value).filter(
    ({ path }) => !path.startsWith(`${list?.[0]}.`),
  );
  const header =
    namedHeader(responseHeaders, 'x-total-count') ?? namedHeader(responseHeaders, 'x-total') ?? '';
  const isPaged = about.some(({ name }) => PAGED.test(name));
  const said = about.find(
    ({ path, name, value: one }) =>
      TOTAL.test(name) && Number.isInteger(one) && (path.toLowerCase() !== 'total' || isPaged),
  );
  const next = about.find(
    ({ path, value: one }) => NEXT.test(path) && one !== null && one !== false && one !== '',
  );
  const isLinked = /;\s*rel="?next"?/i.test(namedHeader(responseHeaders, 'link') ?? '');
  const total = /^\d{1,9}$/.test(header) ? Number(header) : said === undefined ? null : Number(said.value);
  const more = isLinked
    ? 'its Link header names a next page'
    : next !== undefined
      ? `its body has ${excerpt(next.path, 40)}`
      : total !== null && total > entries.length
        ? `${header === '' ? excerpt(said?.path ?? '', 40) : 'X-Total-Count'} says so`
        : null;
  return { entries, total, more };
}

/** The path of a number that was sent, and that is the count of the entries, or the sum or average of a field; null: none is. */
function figureOf(entries: readonly Json[], total: number | null, text: string): string | null {
  const sent = parseJson(text);
  if (!isRecord(sent) || text.includes('[')) return null;
  const names = new Set(entries.flatMap((entry) => (isRecord(entry) ? Object.keys(entry) : [])));
  const sums = [...names].flatMap((name) => {
    const values = entries.map((entry) => (isRecord(entry) ? Number(entry[name] ?? NaN) : NaN));
    const sum = values.reduce((all, value) => all + value, 0);
    return /id$/i.test(name) || Number.isNaN(sum) ? [] : [sum, sum / values.length];
  });
  const leaves = leavesOf(sent);
  if (leaves.some(({ value }) => value === total)) return null;
  const isFigure = (value: unknown): boolean =>
    typeof value === 'number' && [entries.length, ...sums].some((one) => Math.abs(one - value) < ROUNDED);
  return leaves.find(({ name, value }) => !/id$/i.test(name) && isFigure(value))?.path ?? null;
}

const firstPageOnly: Rule<Needs<'http_client' | 'request'>> = {
  name: 'first-page-only',
  needs: ['http_client', 'request'],
  labels: ['first page only'],
  why: 'The response of a call says that entries follow (`Link`, `X-Total-Count`, `next` or `total`), and no other call went to that path. The call asked for more than it got, or this response has their number, or the sum or average of a field.',
  fix: 'Follow `rel="next"` until there is none, or ask the service for the sum instead of adding up its entries.',
  find({ http_client: { calls }, request }, { status }) {
    const text = request.response?.text ?? '';
    if (calls.length === 0 || status === null || status >= 300) return [];
    return calls.flatMap((call, index): FindingDraft[] => {
      if (call.method !== 'GET' || call.status !== 200) return [];
      const { entries = [], total = null, more = null } = receivedOf(call) ?? {};
      if (more === null || entries.length < 2 || entries.length >= (total ?? Infinity)) return [];
      const capped = isCapped(call, entries.length);
      if (PART.test(call.url) && !capped) return [];
      const isFollowed = calls.some((other) => other !== call && pathIn(other) === pathIn(call));
      const figure = isFollowed ? null : figureOf(entries, total, text);
      if (isFollowed || (figure === null && !capped)) return [];
      const all = total === null ? '' : ` of ${count(total)}`;
      const asked = capped ? ', fewer than it was asked for' : '';
      const used = figure === null ? '' : `: ${excerpt(figure, 40)} was computed from that part`;
      const sentence = `${callName(call)} returned ${count(entries.length)}${all} entries${asked} (${more}), and no call fetched the rest${used}`;
      return [{ broke: 'response', severity: 'warn', sentence, anchor: `c${index + 1}`, place: call.caller }];
    });
  },
};

export const swallowedRules: readonly Rule[] = [refusalIgnored, queryNotEscaped, firstPageOnly];
