/** Headers of a response, above all those for caches. */
import type { KeptRequest } from '../panels/request/data.ts';
import type { HeaderStep } from '../panels/shared/header-authors.ts';
import { leavesOf } from '../panels/shared/json-leaves.ts';
import { isPage, pageText } from '../panels/shared/page-text.ts';
import { receivedFields } from '../panels/shared/received.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import type { Finding } from '../profiler/read/finding.ts';
import type { ProfileHead } from '../profiler/profile.ts';
import { isMasked } from '../profiler/masking/redact.ts';
import { isEncoded, mediaTypeOf } from '../profiler/http-text.ts';
import { pathOf } from '../profiler/request-target.ts';
import { bytesText } from '../view-helpers/numbers.ts';
import {
  directivesIn,
  headerAt,
  headerCode,
  isSuccess,
  layerAt,
  nameOfLayer,
  placeOfHeader,
  receivedHeader,
  type SentHeader,
  sentHeader,
  sentHeaders,
  sentNames,
  sentValue,
} from './shared/http.ts';
import type { Kept, Needs, OtherRequest, Rule } from './shared/kept.ts';
import { count, excerpt, requestText } from './shared/wording.ts';
import { commonEnds } from '../profiler/common-ends.ts';

/** Headers that hold lists: a later value must include the earlier ones. */
const LISTS = new Set(['set-cookie', 'vary', 'link', 'server-timing', 'access-control-expose-headers']);
const POLICIES = new Set([
  'content-security-policy', 'strict-transport-security', 'x-frame-options', 'referrer-policy', 'cache-control',
  'access-control-allow-origin', 'permissions-policy',
]); // prettier-ignore

interface Overwritten {
  name: string;
  by: HeaderStep;
  before: HeaderStep;
  index: number;
}

function overwrittenIn(request: KeptRequest): Overwritten[] {
  const { sent = [] } = request.response?.setBy ?? {};
  return sentNames(request).flatMap((name, index) => {
    const steps = sent[index] ?? [];
    const at = steps.findIndex(({ verb }) => verb === 'changed');
    const by = steps[at];
    const before = steps[at - 1];
    return by === undefined || before === undefined ? [] : [{ name, by, before, index }];
  });
}

const headerOverwritten: Rule<Needs<'request' | 'routing'>> = {
  name: 'header-overwritten',
  needs: ['request', 'routing'],
  labels: ['lost header', 'overwritten'],
  why: 'Two middleware functions or handlers called `setHeader` for the same header, and the later value does not contain the earlier one.',
  fix: 'Append to list headers (`res.append`, `res.vary`, `res.cookie`) instead of setting them, and set each policy in one place.',
  find({ request, routing }, { status }) {
    // An error page replaces headers on purpose.
    if (status === null || status >= 400) return [];
    return overwrittenIn(request).flatMap(({ name, by, before, index }): FindingDraft[] => {
      const isList = LISTS.has(name.toLowerCase());
      if (!isList && !POLICIES.has(name.toLowerCase())) return [];
      const [first, second] = [layerAt(routing, before.layer), layerAt(routing, by.layer)];
      // Without knowing who set the header there is nothing to report.
      if (first === undefined || second === undefined || second.kind === 'error') return [];
      // A handler that knows better than a policy for all.
      if (!isList && second.kind === 'handler') return [];
      const sentence = `${nameOfLayer(second)} overwrote ${name}, set by ${nameOfLayer(first)}: 1 of 2 values was sent`;
      const place = second.source;
      const anchor = `rh-${index + 1}`;
      const severity = isList ? 'warn' : 'info';
      return [{ label: isList ? 'lost header' : 'overwritten', severity, sentence, anchor, place }];
    });
  },
};

/** Sending less again costs next to nothing. */
const LARGE_BODY = 16_384;

function directivesOf(text: string): Map<string, string> {
  return new Map(
    text.split(',').map((part) => {
      const [name = '', value = ''] = part.split('=', 2);
      return [name.trim().toLowerCase(), value.trim().replaceAll('"', '')] as const;
    }),
  );
}

function seconds(directives: ReadonlyMap<string, string>, name: string): number {
  const value = Number(directives.get(name) ?? 0);
  return Number.isFinite(value) ? value : 0;
}

/** Without `public` or `s-maxage`, shared caches don't store what such a request got (RFC 9111, 3.5). */
function personalBy(request: KeptRequest, ageS: number): string | null {
  if (receivedHeader(request, 'authorization') !== null) return 'carried credentials (Authorization)';
  // A file may be sent to a user, too.
  const isMade = /html|json/.test(mediaTypeOf(request.response?.contentType ?? null));
  const isKnown = request.sessionAndUser?.user !== undefined && receivedHeader(request, 'cookie') !== null;
  return isMade && isKnown && ageS > 0 ? 'belongs to a user (`req.user`)' : null;
}

/** What contradicts this Cache-Control among the other headers of the response. */
function contradictions(
  control: SentHeader,
  { request, varies }: { request: KeptRequest; varies: string },
): [sentence: string, severity: Finding['severity'], anchor: string][] {
  const directives = directivesOf(control.value);
  const ageS = Math.max(seconds(directives, 'max-age'), seconds(directives, 's-maxage'));
  const isShared = directives.has('public') || seconds(directives, 's-maxage') > 0;
  const cookies = sentHeaders(request, 'set-cookie');
  const found: ReturnType<typeof contradictions> = [];
  const say = (sentence: string, severity: Finding['severity'] = 'warn', anchor = control.anchor): void => {
    found.push([sentence, severity, anchor]);
  };
  if (directives.has('no-store') && ageS > 0)
    say(`Cache-Control combines no-store with a lifetime of ${count(ageS, 'second')}: nothing is cached`);
  if (isShared && !directives.has('no-store') && cookies.length > 0)
    say(
      `Shared caches may store this response with the ${count(cookies.length, 'cookie')} it sets, and send them to other visitors`,
    );
  const personal = personalBy(request, ageS);
  if (isShared && !directives.has('no-store') && cookies.length === 0 && personal !== null)
    say(
      `Shared caches may store this response, although the request ${personal}, and send it to other visitors`,
    );
  if (ageS > 0 && varies.includes('*'))
    say(`Vary: * prevents any reuse: the ${count(ageS, 'second')} in Cache-Control have no effect`);
  const encoding = sentHeader(request, 'content-encoding');
  const isCompressed = encoding !== null && isEncoded(encoding.value);
  if (ageS > 0 && isShared && isCompressed && !/accept-encoding|\*/.test(varies))
    say(
      `Shared caches may send this compressed response for ${count(ageS, 'second')} to clients that can’t decode it: Vary lacks Accept-Encoding`,
      'warn',
      encoding.anchor,
    );
  return found;
}

function matches(ifNoneMatch: string, tag: string): boolean {
  const bare = (text: string): string => text.trim().replace(/^W\//, '');
  return ifNoneMatch.split(',').some((listed) => bare(listed) === bare(tag));
}

const cachingCannotWork: Rule<Needs<'request', 'routing'>> = {
  name: 'caching-cannot-work',
  needs: ['request'],
  labels: ['caching'],
  why: 'The response headers contradict each other (RFC 9111), or a full body was sent although the request already named its ETag.',
  fix: 'Choose one policy per route: `no-store`, `private` with a lifetime, or `public` without cookies and with the right Vary. Send 304 when `req.fresh` is true.',
  find({ request, routing }, { method, status }) {
    const { response } = request;
    if (!isSuccess(status) || response === undefined) return [];
    if (method !== 'GET' && method !== 'HEAD') return [];
    const found: FindingDraft[] = [];
    const say = (sentence: string, severity: Finding['severity'], anchor: string): void => {
      found.push({ severity, sentence, anchor, place: placeOfHeader({ request, routing }, anchor) });
    };
    const control = sentHeader(request, 'cache-control');
    if (control !== null) {
      const varies = sentHeaders(request, 'vary')
        .map(({ value }) => value)
        .join(',')
        .toLowerCase();
      for (const contradiction of contradictions(control, { request, varies })) say(...contradiction);
    }
    const requested = status === 200 && method === 'GET' ? receivedHeader(request, 'if-none-match') : null;
    if (requested === null || /no-cache/i.test(receivedHeader(request, 'cache-control') ?? '')) return found;
    const tag = sentHeader(request, 'etag');
    if (tag !== null && matches(requested, tag.value) && response.bytes > 0)
      say(
        `The client already had this ETag, but received all ${bytesText(response.bytes)} again instead of a 304`,
        'warn',
        tag.anchor,
      );
    return found;
  },
  code(finding, profile) {
    const at = headerAt(finding, profile);
    if (at === 'content-encoding')
      return headerCode(
        'Vary',
        [...directivesIn(sentValue(profile, 'vary')), 'Accept-Encoding'],
        'Assumes that the response differs in nothing else that the request headers choose.',
      );
    if (at !== 'cache-control' || sentValue(profile, 'vary').includes('*')) return null;
    const directives = directivesIn(sentValue(profile, 'cache-control'));
    if (directives.some((directive) => /^no-store$/i.test(directive)))
      return headerCode('Cache-Control', ['no-store'], 'Assumes that no copy may be stored anywhere.');
    const own = directives.filter((directive) => !/^(?:public|private|s-maxage\b.*)$/i.test(directive));
    return directives.length === own.length
      ? null
      : headerCode(
          'Cache-Control',
          ['private', ...own],
          'Assumes that the response is meant for this visitor only; the visitor’s own browser may still store it.',
        );
  },
};

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
  let [from, same] = commonEnds(before, after);
  while (from > 0 && /[\w.:-]/.test(before[from - 1] ?? '')) from--;
  while (same > 0 && /[\w.:-]/.test(before.at(-same) ?? '')) same--;
  const found = {
    from,
    before: before.slice(from, before.length - same),
    after: after.slice(from, after.length - same),
  };
  return found.before.length > SMALL || found.after.length > SMALL ? null : found;
}

type Needed = Needs<'request', 'routing'>;

/** The tag that the client named, if the response has another one; null otherwise. */
function namedTag({ request }: Needed, { method, status }: ProfileHead): string | null {
  if (method !== 'GET' || status !== 200 || (request.response?.text ?? null) === null) return null;
  const named = receivedHeader(request, 'if-none-match');
  return named === null || named === sentHeader(request, 'etag')?.value ? null : named;
}

type Copy = Required<Pick<Partial<Kept>, 'request'>> & Pick<OtherRequest, 'head'>;

/** The earlier responses of this address that had the tag, and a body. */
function copiesWith(tag: string, url: string, earlier: readonly OtherRequest[]): Copy[] {
  return earlier.flatMap(({ head, kept: { request } }) => {
    if (head.url !== url || head.status === 304 || request === undefined) return [];
    return sentHeader(request, 'etag')?.value === tag ? [{ head, request }] : [];
  });
}

const etagChanges: Rule<Needed> = {
  name: 'etag-changes',
  needs: ['request'],
  labels: ['ETag changes'],
  why: 'The request named the ETag of an earlier response of this route; the texts differ only in a few characters that look like a time or a random value.',
  fix: 'Remove data that changes each time from the body, or send it in a header, so that the ETag stays the same and 304 can be sent.',
  compares: (kept, head) => namedTag(kept, head) !== null,
  find(kept, head, { earlier }) {
    const { request } = kept;
    const named = namedTag(kept, head);
    const tag = sentHeader(request, 'etag');
    const [copy] = named === null ? [] : copiesWith(named, head.url, earlier);
    const before = copy?.request.response?.text ?? null;
    if (tag === null || before === null) return [];
    const text = request.response?.text ?? '';
    const difference = differenceOf(before.slice(0, LONGEST), text.slice(0, LONGEST));
    if (difference === null || !FLEETING.test(difference.before) || !FLEETING.test(difference.after))
      return [];
    const { after, from } = difference;
    const sentence = `The ETag changed since this client’s last request because of ${count(after.length, 'character')} of ${count(text.length)} (from ${count(from)} on) that look like a time or a random value: 304 is never sent`;
    return [{ severity: 'warn', sentence, anchor: tag.anchor, place: placeOfHeader(kept, tag.anchor) }];
  },
};

/** Of the package `etag`, or of a file: another content has another one. */
const ETAG_OF_CONTENT = /^(?:W\/)?"[0-9a-f]+-(?:[0-9a-f]+|[\w+/]{27})"$/;

/** The application's own tag of a page or of data. */
function ownTag({ request }: Needed, { method, status }: ProfileHead): SentHeader | null {
  const tag = method === 'GET' && (status === 200 || status === 304) ? sentHeader(request, 'etag') : null;
  return tag === null || ETAG_OF_CONTENT.test(tag.value) ? null : tag;
}

interface Chosen {
  name: string;
  before: string;
  now: string;
}

/** What a server chooses a representation by, where two requests differ. */
function chosenBy(request: KeptRequest, copy: KeptRequest): Chosen | undefined {
  const header = 'accept-language';
  const [before, now] = [copy, request].map((one) => receivedHeader(one, header));
  const was = new Map(leavesOf(copy.sessionAndUser?.session ?? null).map(({ path, value }) => [path, value]));
  const leaf = leavesOf(request.sessionAndUser?.session ?? null).find(
    ({ path, value }) =>
      isText(value) &&
      !path.startsWith('cookie') &&
      value !== was.get(path) &&
      isText(was.get(path) ?? 'none'),
  );
  if (leaf !== undefined)
    return {
      name: `session.${leaf.path}`,
      before: String(was.get(leaf.path) ?? 'none'),
      now: String(leaf.value),
    };
  return before === now ? undefined : { name: header, before: before ?? 'none', now: now ?? 'none' };
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && !isMasked(value) && !FLEETING.test(value);
}

/** In what a copy is another representation than this response. */
function otherThan(request: KeptRequest, copy: KeptRequest): Chosen | undefined {
  for (const name of ['content-language', 'content-type']) {
    const [before, now] = [copy, request].map((one) => sentHeader(one, name)?.value ?? '');
    if (before && now && before !== now) return { name, before, now };
  }
  return undefined;
}

/** A 304 has no text to compare, but a page has texts in its language. */
function isSameText(request: KeptRequest, copy: KeptRequest): boolean {
  const [before, now] = [copy, request].map(({ response }) => response?.text ?? '');
  if (now === '') return mediaTypeOf(copy.response?.contentType ?? null) !== 'text/html';
  // Its scripts may have a nonce, its forms a token.
  const shown = (text: string | undefined): string | undefined =>
    text !== undefined && isPage(text) ? pageText(text, LONGEST) : text;
  return before === '' || shown(before) === shown(now);
}

const etagOfSeveral: Rule<Needed> = {
  name: 'etag-of-several',
  needs: ['request'],
  labels: ['ETag of several'],
  why: 'An earlier response of this address had the ETag of this one, which the application made itself, but another language or type, or another text together with another value of the session or another Accept-Language.',
  fix: 'Make the ETag from everything that the response is chosen by, for example `"${lang}-${id}-${changedAt}"`, or let Express make it from the body.',
  compares: (kept, head) => ownTag(kept, head) !== null,
  find(kept, head, { earlier }) {
    const { request } = kept;
    const tag = ownTag(kept, head);
    const isConfirmed = head.status === 304;
    const copies = tag === null ? [] : copiesWith(tag.value, head.url, earlier);
    const [copy] = copies;
    if (tag === null || copy === undefined) return [];
    // The client may have that copy.
    if (isConfirmed && copies.some((one) => otherThan(request, one.request) === undefined)) return [];
    const by = chosenBy(request, copy.request);
    const other = otherThan(request, copy.request) ?? (isConfirmed ? undefined : by);
    if (other === undefined || isSameText(request, copy.request)) return [];
    const [before, now] = [other.before, other.now].map((value) => excerpt(value, 40));
    const chosen = by === undefined || by === other ? '' : `, chosen by ${by.name}`;
    const begin = isConfirmed ? '304 confirms the copy' : 'The response has the ETag';
    const sentence = `${begin} of ${requestText(copy.head)}, which was sent with ${other.name} ${before}; this one has ${now}${chosen}: the ETag doesn’t depend on it`;
    const place = placeOfHeader(kept, tag.anchor);
    return [
      { broke: 'response', severity: isConfirmed ? 'bad' : 'warn', sentence, anchor: tag.anchor, place },
    ];
  },
};

/** Clients that ask again soon find out soon. */
const LONGEST_ERROR_S = 60;
const DAY_S = 86_400;
/** `app.3f2a1b9c.js`, `index-BX3k2a9d.js`: another content has another name. */
const HASHED = /(?:[.-][0-9a-f]{8,}|-(?=[\w-]{0,7}\d)[\w-]{8})\.(?:m?js|css|woff2?|png|jpe?g|svg|webp|avif)$/;
const LOG_IN = /\/(?:log-?in|sign-?in|sso|auth)(?:[/?#]|$)/i;
const OF_PERSON = /(?:name|mail|phone|address|login)$/i;
const SHORTEST_PERSONAL = 4;
/** Words of any page. */
const NO_NAME = /^(?:admin|administrator|anonymous|guest|root|test|user)$/i;

/** What the response has of the user or the session; null: nothing, or caches ask who wants it. */
function personalIn(request: KeptRequest): string | null {
  const { user = null, session = null } = request.sessionAndUser ?? {};
  const text = request.response?.text ?? '';
  if (!/html$|json$/.test(mediaTypeOf(request.response?.contentType ?? null))) return null;
  if (/cookie|authorization|\*/i.test(sentHeader(request, 'vary')?.value ?? '')) return null;
  const leaf = [...leavesOf(user), ...leavesOf(session)].find(
    ({ name, value }) =>
      OF_PERSON.test(name) &&
      typeof value === 'string' &&
      value.length >= SHORTEST_PERSONAL &&
      !NO_NAME.test(value) &&
      !isMasked(value) &&
      text.includes(value),
  );
  return leaf?.path ?? null;
}

/** A permanent redirect depends on nothing that changes, such as whether somebody is logged in. */
function permanentLogIn(kept: Needs<'request', 'routing'>, { status, method }: ProfileHead): FindingDraft[] {
  const location = status === 301 || status === 308 ? sentHeader(kept.request, 'location') : null;
  if (location === null || (method !== 'GET' && method !== 'HEAD') || !LOG_IN.test(location.value)) return [];
  if (/no-store|no-cache|max-age=0/i.test(sentHeader(kept.request, 'cache-control')?.value ?? '')) return [];
  const place = placeOfHeader(kept, location.anchor);
  const sentence = `The redirect to the log-in is permanent (${status}): browsers keep it, and go there without asking again after the log-in`;
  return [{ broke: 'unseen', severity: 'warn', sentence, anchor: location.anchor, place }];
}

const cachedWrongly: Rule<Needs<'request', 'routing'>> = {
  name: 'cached-wrongly',
  needs: ['request'],
  labels: ['cached too long', 'cached for all', 'not cached'],
  why: 'An error has a lifetime over a minute, or a page one of a day or more. A page with a name of the session is `public`. A log-in redirect is permanent. A file with a hash in its name has no lifetime.',
  fix: 'Give lifetimes by kind: `no-cache` for pages, `immutable` for files with a hash in their name, `no-store` for errors and personal responses, 302 or 303 for a log-in.',
  find(kept, head) {
    const { request } = kept;
    const { status, method, url } = head;
    const redirect = permanentLogIn(kept, head);
    if (redirect.length > 0 || status === null || method !== 'GET') return redirect;
    const control = sentHeader(request, 'cache-control');
    if (control === null) return [];
    const directives = directivesOf(control.value);
    const isStored = !directives.has('no-store') && !directives.has('no-cache');
    const ageS = isStored ? Math.max(seconds(directives, 'max-age'), seconds(directives, 's-maxage')) : 0;
    const common = { anchor: control.anchor, place: placeOfHeader(kept, control.anchor) };
    if (status >= 400 && status !== 410 && ageS > LONGEST_ERROR_S) {
      const sentence = `The ${status} has a lifetime of ${count(ageS, 'second')}: it is shown until then, also once the cause is gone`;
      return [{ ...common, broke: 'unseen', severity: 'warn', sentence }];
    }
    if (status !== 200) return [];
    const isShared = ageS > 0 && (directives.has('public') || seconds(directives, 's-maxage') > 0);
    const personal = isShared ? personalIn(request) : null;
    if (personal !== null) {
      const sentence = `Shared caches may give this response to anybody for ${count(ageS, 'second')} (${excerpt(control.value, 60)}), but it has the ${excerpt(personal, 60)} of the user who asked`;
      return [{ ...common, broke: 'unseen', label: 'cached for all', severity: 'bad', sentence }];
    }
    const path = pathOf(url);
    const pageS = isStored ? seconds(directives, 'max-age') : 0;
    if (
      mediaTypeOf(request.response?.contentType ?? null) === 'text/html' &&
      pageS >= DAY_S &&
      !HASHED.test(path)
    ) {
      const sentence = `Browsers keep this page for ${count(pageS, 'second')} without asking again: until then they don’t show a new version`;
      return [{ ...common, broke: 'unseen', severity: 'warn', sentence }];
    }
    const bytes = request.response?.bytes ?? 0;
    if (ageS > 0 || !HASHED.test(path) || bytes < LARGE_BODY) return [];
    const sentence = `The file has a hash in its name, but browsers ask for it again each time (${bytesText(bytes)})`;
    return [{ ...common, label: 'not cached', severity: 'info', sentence }];
  },
};

/** Names by which a protocol hands over an address that the server has to know already. */
const REGISTERED = /(?:uri|relaystate|callback(?:_?url)?|service)$/i;

/** The host that a browser goes to; null: that of the page. */
function hostOf(location: string): string | null {
  const base = 'http://own.invalid';
  if (!URL.canParse(location, base)) return null;
  const { host, protocol } = new URL(location, base);
  return host === 'own.invalid' || !protocol.startsWith('http') ? null : host.toLowerCase();
}

/** `shop.example` of `www.shop.example:8080` */
function siteOf(host: string): string {
  return host.replace(/:\d+$/, '').split('.').slice(-2).join('.');
}

const openRedirect: Rule<Needs<'request', 'routing'>> = {
  name: 'open-redirect',
  needs: ['request'],
  labels: ['open redirect'],
  why: 'The Location leads to another site, and the request named that address in a field. Anybody can send such a link, and it begins with your host. A browser reads `//host` and `/\\host` as another host.',
  fix: 'Compare the host: `new URL(next, origin).origin === origin`. A leading `/` proves nothing.',
  find({ request, routing }, { status, origin }) {
    const location =
      status !== null && status >= 300 && status < 400 ? sentHeader(request, 'location') : null;
    const host = location === null ? null : hostOf(location.value);
    const own = origin !== null && URL.canParse(origin) ? new URL(origin).host : null;
    if (location === null || host === null || own === null || siteOf(host) === siteOf(own)) return [];
    const field = receivedFields(request).find(
      ({ name, value }) =>
        typeof value === 'string' &&
        hostOf(value) === host &&
        location.value.startsWith(value) &&
        !REGISTERED.test(name),
    );
    if (field === undefined) return [];
    const sentence = `The redirect leads to another host, ${excerpt(host, 60)}, which the ${field.from}’s ${excerpt(field.path, 60)} names: a link to this address can send a visitor anywhere`;
    const place = placeOfHeader({ request, routing }, location.anchor);
    return [{ broke: 'unseen', severity: 'warn', sentence, anchor: location.anchor, place }];
  },
};

const streamBuffered: Rule<Needs<'request'>> = {
  name: 'stream-buffered',
  needs: ['request'],
  labels: ['buffered stream'],
  why: 'The response is an event stream with a Content-Encoding, and was not sent in pieces, so a compressor buffers its events.',
  fix: 'Exclude event streams from compression (`Cache-Control: no-transform`, or its filter), or call `res.flush()` after each event.',
  find({ request }) {
    const { response } = request;
    if (response === undefined || mediaTypeOf(response.contentType) !== 'text/event-stream') return [];
    if (response.isFlushed === true) return [];
    const encoding = sentHeader(request, 'content-encoding');
    if (encoding === null || !isEncoded(encoding.value)) return [];
    const sentence = `The event stream is compressed, so events may wait in a buffer; ${bytesText(response.bytes)} were sent so far`;
    return [{ severity: 'warn', sentence, anchor: encoding.anchor }];
  },
  code(_finding, profile) {
    const directives = directivesIn(sentValue(profile, 'cache-control'));
    return headerCode(
      'Cache-Control',
      [...(directives.length === 0 ? ['no-cache'] : directives), 'no-transform'],
      'Assumes that the compressor is the package compression, or a proxy, which leave such a response as it is.',
    );
  },
};

export const headerRules: readonly Rule[] = [
  headerOverwritten,
  cachingCannotWork,
  etagChanges,
  etagOfSeveral,
  cachedWrongly,
  openRedirect,
  streamBuffered,
];
