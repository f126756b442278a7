/** Foreign text: its writing direction isolated, long text folded with its length, masked parts marked. */
import { markup, SafeHtml } from './safe-html.ts';
import { count } from './numbers.ts';
import { isMasked, MASK_PATTERN } from '../profiler/masking/redact.ts';

/** One character beyond ASCII in UTF-8, percent-encoded (RFC 3986, 2.1). */
const ENCODED =
  /%[CD][0-9A-F]%[89AB][0-9A-F]|%E[0-9A-F](?:%[89AB][0-9A-F]){2}|%F[0-7](?:%[89AB][0-9A-F]){3}/gi;
const VISIBLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u;

/**
 * Percent-encoded letters and symbols as such. Everything else stays as sent: what ASCII encodes could be a delimiter, and what is
 * invisible, or turns the direction of the text, would hide what was asked for.
 */
export function shownUrl(url: string): string {
  return url.replace(ENCODED, (sequence) => {
    try {
      const character = decodeURIComponent(sequence);
      return VISIBLE.test(character) ? character : sequence;
    } catch {
      return sequence;
    }
  });
}

const FOLD_ABOVE = 300;
const SUMMARY_LENGTH = 120;
const ONE_LINE = 100;
const SURROGATE = /[\ud800-\udfff]/;

function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === undefined) return '';
  const line = JSON.stringify(value);
  return line.length <= ONE_LINE ? line : JSON.stringify(value, null, 2);
}

function withMasks(text: string): SafeHtml | string {
  if (!isMasked(text)) return text;
  const masks = text.match(MASK_PATTERN) ?? [];
  const parts = text.split(MASK_PATTERN);
  return markup`${parts.map((part, index) =>
    index === 0 ? part : markup`<span class="mask">${masks[index - 1]}</span>${part}`,
  )}`;
}

function foreign(value: unknown): SafeHtml {
  return markup`<bdi>${withMasks(toText(value))}</bdi>`;
}

function beginning(text: string, length: number): string {
  const first = text.slice(0, length + 1);
  const cut = SURROGATE.test(first) ? Array.from(first).slice(0, length).join('') : first.slice(0, length);
  return cut.replace(/\s+/g, ' ');
}

export interface ValueOptions {
  label?: string;
}

function value(given: unknown, { label = 'Whole value' }: ValueOptions = {}): SafeHtml {
  const text = toText(given);
  if (text === '') return markup`<span class="say">empty</span>`;
  if (text.length <= FOLD_ABOVE && !text.includes('\n')) return foreign(text);
  if (text.length <= FOLD_ABOVE)
    return markup`<div class="long" tabindex="0" role="region" aria-label="${label}">${foreign(text)}</div>`;
  const length = count(text.length, 'character');
  const summary = markup`<bdi>${withMasks(beginning(text, SUMMARY_LENGTH))}&hellip;</bdi> <span class="say">${length}</span>`;
  const whole = markup`<div class="long" tabindex="0" role="region" aria-label="${label}">${foreign(text)}</div>`;
  return markup`<details class="fold"><summary>${summary}</summary>${whole}</details>`;
}

function sentence(text: unknown, limit = 600): SafeHtml {
  const whole = toText(text);
  if (whole.length <= limit) return foreign(whole);
  const cut = count(whole.length - limit, 'more character');
  return markup`${foreign(`${beginning(whole, limit)}…`)} <span class="say">${cut}</span>`;
}

function splitUrl({ origin, url }: { origin: string | null; url: string }): {
  origin: string;
  path: string;
  query: string;
} {
  const at = url.indexOf('?');
  return {
    origin: url.startsWith('/') ? (origin ?? '') : '',
    path: shownUrl(at === -1 ? url : url.slice(0, at)),
    query: at === -1 ? '' : shownUrl(url.slice(at)),
  };
}

function varying(texts: readonly unknown[]): string[] {
  const all = texts.map((text) => toText(text).split(' '));
  const [first = []] = all;
  const shortest = Math.min(...all.map(({ length }) => length));
  let start = 0;
  while (start < shortest && all.every((words) => words[start] === first[start])) start++;
  let end = 0;
  while (end < shortest - start && all.every((words) => words.at(-1 - end) === first.at(-1 - end))) end++;
  return all.map((words) => words.slice(start, words.length - end).join(' '));
}

/** Why a request failed, in one line; for a 4xx without the error's class, which says less than its message. */
function reason({ status, error }: { status: number | null; error: string | null }): string {
  const text = error ?? '';
  return status !== null && status < 500 ? text.replace(/^[A-Z][\w$]*: (?=\S)/, '') : text;
}

export const textHelpers = {
  rowNumber: ({ id }: { id?: string | undefined }): string => /\d+$/.exec(id ?? '')?.[0] ?? '',
  reason,
  beginning: (text: string, length: number): string =>
    `${beginning(text, length)}${text.length > length ? '…' : ''}`,
  foreign,
  isSafe: (value: unknown): value is SafeHtml => SafeHtml.is(value),
  splitUrl,
  value,
  varying,
  sentence,
  say: (text: string): SafeHtml => markup`<span class="say">${text}</span>`,
  code: (text: unknown): SafeHtml => markup`<code class="any">${foreign(text)}</code>`,
} as const;
