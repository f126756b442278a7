/** The client asked whether its copy is current, and only a time or a random value had changed. */
import type { KeptRequest } from '../panels/request/data.ts';
import type { EarlierRequest, FindingRule } from '../profiler/finding-rule.ts';
import type { ProfileHead } from '../profiler/profile.ts';
import { authorOf, receivedHeader, sentHeader } from './shared/http.ts';
import type { Kept } from './shared/kept.ts';
import { count } from './shared/wording.ts';

/** Texts are compared as far as they are kept. */
const LONGEST = 16_384;
/** A difference that is longer is another content. */
const SMALL = 64;
/** A time, a timestamp or a random text. */
const FLEETING =
  /\d{9,}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d|[0-9a-f]{8}-[0-9a-f]{4}-|[0-9a-f]{12,}|\b0\.\d{6,}/i;

interface Difference {
  from: number;
  before: string;
  after: string;
}

/** The part that differs, with the word that it is part of; null if it is large. */
function differenceOf(before: string, after: string): Difference | null {
  const shorter = Math.min(before.length, after.length);
  let from = 0;
  while (from < shorter && before[from] === after[from]) from++;
  let same = 0;
  while (same < shorter - from && before.at(-1 - same) === after.at(-1 - same)) same++;
  while (from > 0 && /[\w.:-]/.test(before[from - 1] ?? '')) from--;
  while (same > 0 && /[\w.:-]/.test(before.at(-same) ?? '')) same--;
  const found = {
    from,
    before: before.slice(from, before.length - same),
    after: after.slice(from, after.length - same),
  };
  return found.before.length > SMALL || found.after.length > SMALL ? null : found;
}

type Needed = { request: KeptRequest } & Partial<Pick<Kept, 'routing'>>;

/** The tag that the client named, if the response has another one; null otherwise. */
function namedTag({ request }: Needed, { method, status }: ProfileHead): string | null {
  if (method !== 'GET' || status !== 200 || (request.response?.text ?? null) === null) return null;
  const named = receivedHeader(request, 'if-none-match');
  return named === null || named === sentHeader(request, 'etag')?.value ? null : named;
}

/** The text of the earlier response that had this tag and address; undefined if it is not stored. */
function textWith(tag: string, url: string, earlier: readonly EarlierRequest[]): string | undefined {
  for (const { head, kept } of earlier) {
    const request = kept.request as KeptRequest | undefined;
    if (head.url !== url || request === undefined || sentHeader(request, 'etag')?.value !== tag) continue;
    return request.response?.text ?? undefined;
  }
  return undefined;
}

export const etagChanges: FindingRule<Needed> = {
  name: 'etag-changes',
  needs: ['request'],
  labels: ['ETag changes'],
  why: 'The request named the ETag of an earlier response of this route; the texts differ only in a few characters that look like a time or a random value.',
  fix: 'Leave what changes each time out of the body, or send it in a header, so that the ETag stays the same and 304 can be sent.',
  compares: (kept, head) => namedTag(kept, head) !== null,
  find(kept, head, { earlier }) {
    const { request, routing } = kept;
    const named = namedTag(kept, head);
    const tag = sentHeader(request, 'etag');
    const before = named === null ? undefined : textWith(named, head.url, earlier);
    if (tag === null || before === undefined) return [];
    const text = request.response?.text ?? '';
    const difference = differenceOf(before.slice(0, LONGEST), text.slice(0, LONGEST));
    if (difference === null || !FLEETING.test(difference.before) || !FLEETING.test(difference.after))
      return [];
    const { after, from } = difference;
    const sentence = `The ETag changed since this client’s last request because of ${count(after.length, 'character')} of ${count(text.length)} (from ${count(from)} on) that look like a time or a random value: 304 is never sent`;
    return [
      {
        severity: 'warn',
        sentence,
        anchor: tag.anchor,
        place: authorOf(request, routing, tag.anchor)?.source ?? routing?.route?.source,
      },
    ];
  },
};
