/** What browsers refuse: responses, cookies, scripts and files. */
import type { KeptRequest } from '../panels/request/data.ts';
import { leavesOf } from '../panels/shared/json-leaves.ts';
import { lastRunning } from '../panels/shared/ran-layers.ts';
import { receivedFields } from '../panels/shared/received.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import { mediaTypeOf } from '../profiler/http-text.ts';
import { isRecord, type Json } from '../profiler/json.ts';
import { isMasked } from '../profiler/masking/redact.ts';
import { pathOf } from '../profiler/request-target.ts';
import { corsRefusalOf } from './shared/cors.ts';
import { shortCookieOf } from './shared/short-cookie.ts';
import {
  authorOf,
  isUntrustedHttps,
  nameOfLayer,
  placeOfHeader,
  receivedHeader,
  sentHeader,
  sentHeaders,
} from './shared/http.ts';
import type { Needs, OtherRequest, Rule } from './shared/kept.ts';
import { count, duration, excerpt, requestText } from './shared/wording.ts';

export const corsRefused: Rule<Needs<'request' | 'routing', 'browser'>> = {
  name: 'cors-refused',
  needs: ['request', 'routing'],
  labels: ['CORS refused'],
  why: 'The request has an Origin of another site, and its response does not have the status or the CORS headers that browsers ask for.',
  fix: 'Mount `cors({ origin, credentials })` before whatever may respond, such as authentication: a preflight has no cookies and tokens. Name the origin exactly, in lower case and without a slash at its end, and not as `*` with credentials.',
  find({ request, routing, browser }, head) {
    const refusal = corsRefusalOf({ request, routing }, head);
    // The browser has said so: front-end.ts names the line that made the call, too.
    if (refusal === null || browser?.items.some(({ kind }) => kind === 'call') === true) return [];
    const { reason, layer, wanted, anchor } = refusal;
    const what =
      wanted === null
        ? `the response of ${nameOfLayer(layer)}`
        : `what ${nameOfLayer(layer)} responded to the preflight of ${excerpt(wanted, 20)}`;
    const sentence = `Browsers refuse ${what}${reason === null ? ' if the page sends cookies' : ''}, because ${reason ?? 'Access-Control-Allow-Origin is *'}`;
    const place = layer?.source;
    return [{ broke: 'response', severity: reason === null ? 'info' : 'warn', sentence, anchor, place }];
  },
};

/** Browsers treat these hosts as secure over http, too. */
const LOCAL = /^(?:(?:.+\.)?localhost|127\.\d+\.\d+\.\d+|\[::1\])$/i;

interface Cookie {
  name: string;
  attributes: ReadonlyMap<string, string>;
}

function readCookie(line: string): Cookie {
  const [pair = '', ...rest] = line.split(';');
  const attributes = rest.map((part): [string, string] => {
    const [name = '', ...value] = part.split('=');
    return [name.trim().toLowerCase(), value.join('=').trim()];
  });
  const name = pair.includes('=') ? pair.slice(0, pair.indexOf('=')).trim() : '';
  return { name, attributes: new Map(attributes) };
}

function rejection({ name, attributes }: Cookie, isSafe: boolean): string | null {
  const secure = attributes.has('secure');
  if (secure && !isSafe) return 'it is Secure, and the response was sent over http';
  if (attributes.get('samesite')?.toLowerCase() === 'none' && !secure) return 'SameSite=None needs Secure';
  if (/^__(?:secure|host)-/i.test(name) && !secure) return 'its prefix needs Secure';
  if (/^__host-/i.test(name) && (attributes.get('path') !== '/' || attributes.has('domain')))
    return '__Host- needs Path=/ and no Domain';
  return null;
}

function isSafe(origin: string | null): boolean {
  const url = origin !== null && URL.canParse(origin) ? new URL(origin) : null;
  return url !== null && (url.protocol === 'https:' || LOCAL.test(url.hostname));
}

export const cookieRejected: Rule<Needs<'request'>> = {
  name: 'cookie-rejected',
  needs: ['request'],
  labels: ['cookie rejected'],
  why: 'The flags of the cookies were checked against the rules of browsers (RFC 6265bis): Secure over http, SameSite=None without Secure, prefixes.',
  fix: "Trust the proxy that terminates TLS (`app.set('trust proxy', …)`), and set Secure together with SameSite=None.",
  find({ request }, { origin }) {
    const sent = sentHeaders(request, 'set-cookie');
    return sent.flatMap(({ value, anchor }) => {
      const cookie = readCookie(value);
      const reason = rejection(cookie, isSafe(origin));
      if (reason === null) return [];
      const isSecure = cookie.attributes.has('secure');
      const proxy = isSecure && isUntrustedHttps(request) ? '; the proxy says https, but is not trusted' : '';
      const sentence = `Browsers reject 1 of ${count(sent.length, 'cookie')}, “${cookie.name.slice(0, 80)}”: ${reason}${proxy}`;
      return [{ broke: 'unseen', severity: 'warn', sentence, anchor, place: 'Set-Cookie' }];
    });
  },
};

function isCleared({ attributes }: Cookie): boolean {
  const expires = attributes.get('expires');
  return Number(attributes.get('max-age') ?? 1) <= 0 || (expires !== undefined && Date.parse(expires) <= 0);
}

/** Path and domain, by which browsers tell cookies of one name apart, as in Set-Cookie: `Path=/`. */
function scopeOf({ attributes }: Cookie, url: string): string {
  const domain = attributes.get('domain')?.replace(/^\./, '').toLowerCase() ?? '';
  const path = attributes.get('path') ?? '';
  // RFC 6265, 5.1.4.
  const usual = pathOf(url).replace(/\/[^/]*$/, '');
  const named = path.startsWith('/') ? path : usual === '' ? '/' : usual;
  return `Path=${named}${domain === '' ? '' : `; Domain=${domain}`}`;
}

const cookieNotDeleted: Rule<Needs<'request', 'routing'>> = {
  name: 'cookie-not-deleted',
  needs: ['request'],
  labels: ['cookie not deleted'],
  why: 'The response deletes a cookie that the request sent. Another request had set that cookie with a path and domain that no Set-Cookie of this response has.',
  fix: 'Give `clearCookie` the options that the cookie was set with, at least `path` and `domain`. For a browser, the same name with another path is another cookie.',
  relates: ({ request }) =>
    sentHeaders(request, 'set-cookie').some(({ value }) => isCleared(readCookie(value))),
  find({ request, routing }, { url }, { siblings }) {
    const sent = sentHeaders(request, 'set-cookie').map((one) => ({ ...one, cookie: readCookie(one.value) }));
    return sent.flatMap(({ cookie, anchor }): FindingDraft[] => {
      const { name } = cookie;
      if (!isCleared(cookie) || !request.jar.some((one) => one.name === name)) return [];
      const own = sent.filter((one) => one.cookie.name === name).map((one) => scopeOf(one.cookie, url));
      const setters = siblings.flatMap(({ head, kept }) =>
        (kept.request === undefined ? [] : sentHeaders(kept.request, 'set-cookie'))
          .map(({ value }) => readCookie(value))
          .filter((one) => one.name === name && !isCleared(one))
          .map((one) => ({ head, scope: scopeOf(one, head.url) })),
      );
      const [setter] = setters;
      if (setter === undefined || setters.some(({ scope }) => own.includes(scope))) return [];
      const { head, scope } = setter;
      const sentence = `Set-Cookie deletes “${excerpt(name, 60)}” with ${excerpt(scopeOf(cookie, url), 80)}, but ${head.method} ${head.route ?? ''} set it with ${excerpt(scope, 80)} (${head.token}): browsers keep that one`;
      const place = placeOfHeader({ request, routing }, anchor);
      return [{ broke: 'unseen', severity: 'bad', sentence, anchor, place }];
    });
  },
};

const cookieTooLarge: Rule<Needs<'request', 'routing'>> = {
  name: 'cookie-too-large',
  needs: ['request'],
  labels: ['cookie too large'],
  why: 'Name and value of the cookie have more than 4,096 bytes. Browsers ignore such a cookie and keep the old one of that name (RFC 6265bis).',
  fix: 'Keep the data on the server, under an id that the cookie holds. Or limit its length: the last 20 entries, not all.',
  find({ request, routing }) {
    return (request.response?.oversized ?? []).flatMap(({ name, bytes }): FindingDraft[] => {
      const cookie = sentHeaders(request, 'set-cookie').find(({ value }) => readCookie(value).name === name);
      const anchor = cookie?.anchor ?? 'response';
      const kept = request.jar.some((one) => one.name === name) ? ', and keep the one they have' : '';
      const sentence = `The cookie “${excerpt(name, 60)}” has ${count(bytes, 'byte')}: browsers ignore one with more than 4,096${kept}`;
      const place = placeOfHeader({ request, routing }, anchor);
      return [{ broke: 'unseen', severity: 'bad', sentence, anchor, place }];
    });
  },
};

const cookieTooShort: Rule<Needs<'request', 'routing'>> = {
  name: 'cookie-too-short',
  needs: ['request'],
  labels: ['cookie too short'],
  why: 'The cookie lives for a usual lifetime divided by 1,000, such as 86 seconds for a day. Express computes Max-Age and Expires from `maxAge`, which is in milliseconds.',
  fix: 'Give `res.cookie` and `express-session` milliseconds: `maxAge: 30 * 24 * 60 * 60 * 1000`.',
  find({ request, routing }, { startedAt }) {
    const sentAt = startedAt + (request.response?.headersAtMs ?? 0);
    const found = sentHeaders(request, 'set-cookie').flatMap(({ value, anchor }) => {
      const short = shortCookieOf(value, sentAt);
      return short === null ? [] : [{ ...short, anchor }];
    });
    return found.map(({ name, seconds, meant, attribute, anchor }): FindingDraft => {
      const sentence = `The cookie “${excerpt(name, 60)}” lives for ${duration(seconds * 1000)} (${attribute}), a thousandth of ${meant}: its maxAge seems to have been given in seconds`;
      const place = placeOfHeader({ request, routing }, anchor);
      return { broke: 'unseen', severity: 'bad', sentence, anchor, place };
    });
  },
};

const NAMED = 3;

const sessionWithoutCookie: Rule<Needs<'request', 'routing'>> = {
  name: 'session-without-cookie',
  needs: ['request'],
  labels: ['session without cookie'],
  why: 'The request sent no cookie and left values in its session, but the response set no cookie. `express-session` omits it if `cookie.secure` is on and `req.secure` is not.',
  fix: "Set `cookie.secure` to `'auto'`, or trust the proxy that terminates TLS (`app.set('trust proxy', …)`).",
  find({ request, routing }, { status }) {
    const session = request.sessionAndUser?.session;
    if (!isRecord(session)) return [];
    // Values that came too late have a rule of their own.
    if (status === null || status >= 400 || request.sessionAndUser?.late !== undefined) return [];
    if (receivedHeader(request, 'cookie') !== null || sentHeader(request, 'set-cookie') !== null) return [];
    const names = Object.keys(session);
    if (names.length === 0) return [];
    const named = names.slice(0, NAMED).map((name) => `req.session.${name.slice(0, 60)}`);
    const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : '';
    const proxy = isUntrustedHttps(request) ? ' (the proxy says https, but is not trusted)' : '';
    const isSecure = request.client.scheme === 'http' && request.sessionAndUser?.onlyHttps === true;
    const why = isSecure ? `: it is secure, and this request came over http${proxy}` : '';
    const sentence = `The new session has ${named.join(', ')}${more}, but no session cookie was sent${why}${isSecure ? '. The' : ': the'} next request may not find it`;
    const made = isSecure ? routing?.layers.find(({ name }) => name === 'session')?.source : undefined;
    const place = made ?? routing?.route?.source;
    return [{ broke: 'unseen', severity: 'warn', sentence, anchor: 'session', place }];
  },
};

function entriesOf(value: Json | undefined): Map<string, Json> | null {
  const list = Array.isArray(value)
    ? value
    : isRecord(value)
      ? Object.entries(value as Record<string, Json>)
      : null;
  return list === null ? null : new Map(list.map((one): [string, Json] => [JSON.stringify(one), one]));
}

/** The name in the session that has an entry of what `first` received, which `second` has not; null: nothing is lost. */
function lostName(first: OtherRequest, second: OtherRequest): string | null {
  const own = first.kept.request;
  const [had, has] = [own?.sessionAndUser?.session, second.kept.request?.sessionAndUser?.session];
  if (own === undefined || !isRecord(had) || !isRecord(has)) return null;
  const received = new Set(receivedFields(own).map(({ value }) => String(value)));
  const isReceived = (part: Json): boolean => leavesOf(part).some(({ value }) => received.has(String(value)));
  const found = Object.entries(had as Record<string, Json>).find(([name, value]) => {
    const [before, after] = [entriesOf(value), entriesOf(has[name])];
    if (isMasked(JSON.stringify([value, has[name]]))) return false;
    if (has[name] === undefined) return isReceived(value);
    if (before === null || after === null) return false;
    // Without one of its own, it may have removed what is gone.
    const isGrown = [...after.keys()].some((text) => !before.has(text));
    return isGrown && [...before].some(([text, part]) => !after.has(text) && isReceived(part));
  });
  return found?.[0] ?? null;
}

/** Milliseconds between the loading by `second` and the earliest moment at which `first` can have saved; null: in another order. */
function staleMs(first: OtherRequest, second: OtherRequest): number | null {
  const [one, other] = [first.kept, second.kept];
  const mark = one?.request?.sessionAndUser?.mark;
  const layer = other?.routing?.layers.find(({ name, nextMs }) => name === 'session' && nextMs !== null);
  const [savedMs, laterMs] = [one, other].map((kept) => kept?.request?.response?.headersAtMs ?? null);
  if (mark === undefined || mark !== other?.request?.sessionAndUser?.mark || layer === undefined) return null;
  if (savedMs === null || savedMs === undefined || laterMs === null || laterMs === undefined) return null;
  // Of one process, as their marks are of one.
  const shiftMs = (other?.runtime?.startMark ?? NaN) - (one?.runtime?.startMark ?? NaN);
  const early = savedMs - (shiftMs + layer.startMs + (layer.nextMs ?? 0));
  const isLater = shiftMs + laterMs >= savedMs + CLOCK_MS;
  return early >= CLOCK_MS && isLater ? early : null;
}

/** Times are rounded. */
const CLOCK_MS = 0.1;

const sessionOverwritten: Rule<Needs<'request' | 'routing', 'runtime'>> = {
  name: 'session-overwritten',
  needs: ['request', 'routing'],
  labels: ['session lost'],
  why: 'Two requests of one session ran at the same time. The later one loaded the session before the other one saved it, and then saved its own copy. A value that the other request received and put into the session is not in that copy.',
  fix: 'Store a list that grows, such as a cart, in the database or in a Redis hash. There, each request changes its own part. A session is read and written as a whole.',
  overlaps: ({ request }) => request.sessionAndUser?.mark !== undefined,
  find(kept, head, { overlapping }) {
    const self: OtherRequest = { head, kept: { ...kept } };
    return overlapping.flatMap((other): FindingDraft[] => {
      const name = requestText(other.head);
      const common = { broke: 'unseen', severity: 'bad', anchor: 'session' } as const;
      const place = kept.routing.route?.source;
      const over = staleMs(other, self);
      const taken = over === null ? null : lostName(other, self);
      if (over !== null && taken !== null) {
        const sentence = `This request saved the session over ${name}: it had loaded it at least ${duration(over)} before that one saved, so what that one put into req.session.${excerpt(taken, 60)} is lost`;
        return [{ ...common, sentence, place }];
      }
      const under = staleMs(self, other);
      const given = under === null ? null : lostName(self, other);
      if (under === null || given === null) return [];
      const sentence = `${name} saved the session over this request: it had loaded it at least ${duration(under)} before this one saved, so what this one put into req.session.${excerpt(given, 60)} is lost`;
      return [{ ...common, sentence, place }];
    });
  },
};

/** What is meant for one step of a sign-in, or counts its attempts. */
const OF_SIGN_IN =
  /return|redirect|flash|message|csrf|xsrf|state|nonce|oauth|oidc|saml|captcha|attempt|passport/i;

const sessionRenewed: Rule<Needs<'request', 'routing'>> = {
  name: 'session-renewed',
  needs: ['request'],
  labels: ['session lost'],
  why: 'The response set the cookie of a new session with values in it. An earlier request had the session that this request’s cookie named, with values that the new one does not have.',
  fix: 'Copy the values to the new session. A sign-in with Passport makes a new one, and keeps them with `passport.authenticate("local", { keepSessionInfo: true })`. With `req.session.regenerate`, read them before and set them in its callback.',
  relates: ({ request }) => request.sessionAndUser?.former !== undefined,
  find({ request, routing }, _head, { siblings }) {
    const { session, former } = request.sessionAndUser ?? {};
    if (former === undefined || !isRecord(session) || Object.keys(session).length === 0) return [];
    const before = siblings.find(({ kept }) => kept.request?.sessionAndUser?.mark === former);
    const had = before?.kept.request?.sessionAndUser?.session;
    if (before === undefined || !isRecord(had)) return [];
    const lost = Object.keys(had).filter((name) => !Object.hasOwn(session, name) && !OF_SIGN_IN.test(name));
    if (lost.length === 0) return [];
    const names = lost.slice(0, NAMED).map((name) => `req.session.${excerpt(name, 60)}`);
    const sentence = `The response began a new session without ${names.join(', ')}, which the session had before, at ${requestText(before.head)}`;
    return [
      { broke: 'unseen', severity: 'warn', sentence, anchor: 'session', place: routing?.route?.source },
    ];
  },
};

const sessionChangedLate: Rule<Needs<'request', 'routing'>> = {
  name: 'session-changed-late',
  needs: ['request'],
  labels: ['session lost'],
  why: 'The session has changed since the response headers were sent. express-session saves it when `end()` is called, which `send`, `json` and `redirect` do.',
  fix: 'Change the session before the response is sent. If it must change later, call `req.session.save()` and wait for it.',
  find({ request: { sessionAndUser }, routing }) {
    const late = sessionAndUser?.late ?? [];
    if (late.length === 0) return [];
    const named = late.slice(0, NAMED).map((name) => `req.session.${name.slice(0, 60)}`);
    const more = late.length > NAMED ? ` and ${late.length - NAMED} more` : '';
    const sentence = `${named.join(', ')}${more} changed after the headers were sent, so this may not be saved`;
    return [
      { broke: 'unseen', severity: 'warn', sentence, anchor: 'session', place: routing?.route?.source },
    ];
  },
};

const HASH = /'sha(?:256|384|512)-/i;
const NONCE = /'nonce-([^']+)'/gi;
const ALLOWS = /'unsafe-inline'/i;
/** A type that browsers run; JSON-LD and templates are data. */
const DATA_TYPE = /\btype\s*=\s*["']?(?!module\b|text\/javascript\b|application\/javascript\b)[a-z]/i;

/** Values of the directive that decides about inline scripts; null if none does. */
function scriptSource(policy: string): string | null {
  const directives = new Map<string, string>();
  for (const part of policy.split(';')) {
    const text = part.trim();
    const name = text.split(/\s/, 1)[0]?.toLowerCase() ?? '';
    if (!directives.has(name)) directives.set(name, text.slice(name.length));
  }
  return (
    directives.get('script-src-elem') ?? directives.get('script-src') ?? directives.get('default-src') ?? null
  );
}

function blockedIn(html: string, nonces: readonly string[]): number {
  let blocked = 0;
  for (let at = html.indexOf('<script'); at !== -1; at = html.indexOf('<script', at + 7)) {
    const end = html.indexOf('>', at);
    const tag = end === -1 ? '' : html.slice(at + 7, end);
    if (end === -1 || /\ssrc\s*=/i.test(tag) || DATA_TYPE.test(tag)) continue;
    if (html.startsWith('</script', end + 1) || nonces.some((nonce) => tag.includes(nonce))) continue;
    blocked++;
  }
  return blocked;
}

const inlineScriptBlocked: Rule<Needs<'request', 'routing' | 'browser'>> = {
  name: 'inline-script-blocked',
  needs: ['request'],
  labels: ['script blocked'],
  why: 'The HTML has a script without `src` and without a nonce of the policy, and the policy that was sent has no hash and no `unsafe-inline` for scripts.',
  fix: 'Move the script to a file of its own site, or give it a nonce that is new for each response and is listed in `script-src` as `nonce-…`.',
  find({ request, routing, browser }, _head) {
    // The browser has said so: front-end.ts names its line, too.
    if (browser?.items.some(({ kind, url }) => kind === 'policy' && url === 'inline') === true) return [];
    const text = request.response?.text ?? null;
    if (
      text?.includes('<script') !== true ||
      mediaTypeOf(request.response?.contentType ?? null) !== 'text/html'
    )
      return [];
    const policy = sentHeader(request, 'content-security-policy');
    // Several policies, joined by a comma, all have to allow it.
    if (policy === null || policy.value.includes(',')) return [];
    const source = scriptSource(policy.value);
    if (source === null || HASH.test(source)) return [];
    const nonces = [...source.matchAll(NONCE)].flatMap(([, nonce]) => (nonce === undefined ? [] : [nonce]));
    if (ALLOWS.test(source) && nonces.length === 0) return [];
    const blocked = blockedIn(text, nonces);
    if (blocked === 0) return [];
    const author = authorOf(request, routing, policy.anchor);
    const sentence = `Browsers don’t run ${count(blocked, 'inline script')} of this page: the Content-Security-Policy${author === undefined ? '' : ` that ${nameOfLayer(author)} set`} does not allow ${blocked === 1 ? 'it' : 'them'}`;
    const place = placeOfHeader({ request, routing }, policy.anchor);
    return [{ broke: 'unseen', severity: 'warn', sentence, anchor: policy.anchor, place }];
  },
};

/** What `Sec-Fetch-Dest` says the browser wants. */
const WANTED: Readonly<Record<string, string>> = {
  script: 'a script',
  worker: 'a script',
  sharedworker: 'a script',
  serviceworker: 'a script',
  style: 'a style sheet',
  image: 'an image',
  font: 'a font',
};
/** For clients that don't say. */
const ENDINGS: Readonly<Record<string, string>> = {
  js: 'a script',
  mjs: 'a script',
  css: 'a style sheet',
  woff2: 'a font',
};

function wantedBy(request: KeptRequest, path: string): string | undefined {
  const destination = receivedHeader(request, 'sec-fetch-dest');
  // Browsers ask for /favicon.ico unasked.
  if (destination === 'image' && path === '/favicon.ico') return undefined;
  if (destination !== null && destination !== 'empty') return WANTED[destination];
  return ENDINGS[path.slice(path.lastIndexOf('.') + 1)];
}

const htmlInstead: Rule<Needs<'request' | 'routing'>> = {
  name: 'html-instead',
  needs: ['request', 'routing'],
  labels: ['HTML instead'],
  why: 'The browser requested a script, style sheet, image or font, as `Sec-Fetch-Dest` or the ending of the path shows. The response is a page of HTML with status 200.',
  fix: 'Check the folder and the mount path of the files, serve them before the route for all other paths, and respond with a 404 to files that are missing.',
  find({ request, routing }, { status, url, method }) {
    if (status !== 200 || mediaTypeOf(request.response?.contentType ?? null) !== 'text/html') return [];
    const wanted = method === 'GET' ? wantedBy(request, pathOf(url)) : undefined;
    if (wanted === undefined) return [];
    const layer = lastRunning(routing.layers);
    const sentence = `The browser wants ${wanted}, and ${nameOfLayer(layer)} sent a page of HTML with status 200: it can’t be used`;
    const place = layer?.source;
    return [{ broke: 'unseen', severity: 'warn', sentence, panel: 'routing', anchor: 'match', place }];
  },
};

/** Names in the session; null if there is none, or it was not read. */
function sessionNames(request: KeptRequest | undefined): string[] | null {
  const session = request?.sessionAndUser?.session;
  return isRecord(session) ? Object.keys(session) : null;
}

/** A redirect is followed at once, in milliseconds. */
const FOLLOWED_MS = 10_000;
const LOGIN = /log-?in|sign-?(?:in|up)|register|auth|callback/i;
const SENT_AWAY = new Set([302, 303, 401, 403]);

function isSentAway(request: KeptRequest, status: number | null): boolean {
  return SENT_AWAY.has(status ?? 0) && request.jar.length > 0 && sessionNames(request)?.length === 0;
}

const sessionEmpty: Rule<Needs<'request'>> = {
  name: 'session-empty',
  needs: ['request'],
  labels: ['empty session'],
  why: 'A login redirected to this address and set the session cookie that this request has sent. The session is empty, and the response sends the visitor away (302, 303, 401, 403).',
  fix: 'Set values in the callback of `req.session.regenerate(…)`, because it makes a new session. If the store is slow, redirect in the callback of `req.session.save(…)`.',
  relates: ({ request }, { status }) => isSentAway(request, status),
  find({ request }, head, { siblings }) {
    if (!isSentAway(request, head.status)) return [];
    for (const { head: before, kept } of siblings) {
      const { request: login, routing } = kept;
      if (login === undefined) continue;
      const left = sessionNames(login);
      const isNear =
        before.clientAddress === head.clientAddress && head.startedAt - before.startedAt < FOLLOWED_MS;
      if (!isNear || left === null || !LOGIN.test(before.url)) continue;
      if (pathOf(sentHeader(login, 'location')?.value ?? '') !== pathOf(head.url)) continue;
      const set = sentHeaders(login, 'set-cookie').map(({ value }) => readCookie(value));
      if (!set.some((one) => !isCleared(one) && request.jar.some(({ name }) => name === one.name))) continue;
      const how =
        left.length === 0
          ? 'but left nothing in the session, as happens if it is regenerated after values were set'
          : `with ${count(left.length, 'value')} in the session, which was not saved, or not read again`;
      const sentence = `The session is empty: ${before.method} ${before.route ?? ''} (${before.token}) set its cookie and redirected here, ${how}`;
      const place = routing?.route?.source;
      return [{ broke: 'response', severity: 'bad', sentence, anchor: 'session', place }];
    }
    return [];
  },
};

export const browserRules: readonly Rule[] = [
  corsRefused,
  cookieRejected,
  cookieNotDeleted,
  cookieTooLarge,
  cookieTooShort,
  sessionWithoutCookie,
  sessionOverwritten,
  sessionRenewed,
  sessionChangedLate,
  sessionEmpty,
  inlineScriptBlocked,
  htmlInstead,
];
