/** Cookies that browsers reject, keep, or forget too soon. */
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import { pathOf } from '../profiler/request-target.ts';
import { authorOf, isUntrustedHttps, placeOfHeader, sentHeaders } from './shared/http.ts';
import type { Needs, Rule } from './shared/kept.ts';
import { count, duration, excerpt } from './shared/wording.ts';

/** Browsers treat these hosts as secure over http, too. */
const LOCAL = /^(?:(?:.+\.)?localhost|127\.\d+\.\d+\.\d+|\[::1\])$/i;

interface Cookie {
  name: string;
  attributes: ReadonlyMap<string, string>;
}

export function readCookie(line: string): Cookie {
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

const cookieRejected: Rule<Needs<'request'>> = {
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

export function isCleared({ attributes }: Cookie): boolean {
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

const MEANT: ReadonlyMap<number, string> = new Map([
  [3, '1 hour'],
  [86, '1 day'],
  [604, '7 days'],
  [1209, '14 days'],
  [2592, '30 days'],
  [7776, '90 days'],
  [15_552, '180 days'],
  [31_536, '365 days'],
]);

/** A message that is shown once may well live for seconds. */
const MESSAGE = /flash|message|msg|toast|notice|state|nonce/i;

/** `express-session` sends a moment only, and computes it before the response is sent. */
const LATE_SECONDS = 2;
const SHORTEST_MOMENT = 60;

function momentOf(expires: string, atMs: number): number | undefined {
  const seconds = (Date.parse(expires) - atMs) / 1000;
  return [...MEANT.keys()].find(
    (one) => one > SHORTEST_MOMENT && seconds < one + 1 && seconds > one - LATE_SECONDS,
  );
}

interface ShortCookie {
  seconds: number;
  meant: string;
  attribute: 'Max-Age' | 'Expires';
}

/** Of a cookie that was set at `atMs`; null if its lifetime is none of these. */
function shortCookieOf({ name, attributes }: Cookie, atMs: number): ShortCookie | null {
  const maxAge = attributes.get('max-age');
  const seconds = maxAge === undefined ? momentOf(attributes.get('expires') ?? '', atMs) : Number(maxAge);
  const meant = MEANT.get(seconds ?? NaN);
  if (seconds === undefined || meant === undefined || MESSAGE.test(name)) return null;
  return { seconds, meant, attribute: maxAge === undefined ? 'Expires' : 'Max-Age' };
}

/** No session is meant to end within a minute. */
export const SHORT_LIFE_MS = 60_000;
/** Middleware of express-session and cookie-session. */
const SESSIONS = new Set(['session', '_cookieSession']);
const OF_SESSION = /(?:^|[._-])(?:sid|sess|session(?:_?id)?)$/i;

/** Milliseconds, of the cookie of a session; null for any other. An application may send the rest of a life as Expires. */
function sessionLifeOf(
  { name, attributes }: Cookie,
  { livesMs, isBySession, atMs }: { livesMs: number | undefined; isBySession: boolean; atMs: number },
): number | null {
  if (MESSAGE.test(name)) return null;
  const maxAge = attributes.get('max-age');
  if (isBySession) return livesMs ?? Date.parse(attributes.get('expires') ?? '') - atMs;
  return maxAge !== undefined && OF_SESSION.test(name) ? Number(maxAge) * 1000 : null;
}

const cookieTooShort: Rule<Needs<'request', 'routing'>> = {
  name: 'cookie-too-short',
  needs: ['request'],
  labels: ['cookie too short'],
  why: 'The cookie lives for a usual lifetime divided by 1,000, such as 86 seconds for a day; or it is that of a session and lives for less than a minute. Express computes Max-Age and Expires from `maxAge`, which is in milliseconds.',
  fix: 'Give `res.cookie` and `express-session` milliseconds: `maxAge: 30 * 24 * 60 * 60 * 1000`.',
  find({ request, routing }, { startedAt }) {
    const sentAt = startedAt + (request.response?.headersAtMs ?? 0);
    return sentHeaders(request, 'set-cookie').flatMap(({ value, anchor }): FindingDraft[] => {
      const cookie = readCookie(value);
      const common = { broke: 'unseen', anchor, place: placeOfHeader({ request, routing }, anchor) } as const;
      const named = `“${excerpt(cookie.name, 60)}”`;
      const short = shortCookieOf(cookie, sentAt);
      if (short !== null) {
        const sentence = `The cookie ${named} lives for ${duration(short.seconds * 1000)} (${short.attribute}), a thousandth of ${short.meant}: its maxAge seems to have been given in seconds`;
        return [{ ...common, severity: 'bad', sentence }];
      }
      const isBySession = SESSIONS.has(authorOf(request, routing, anchor)?.name ?? '');
      const { livesMs } = request.sessionAndUser ?? {};
      const lifeMs = sessionLifeOf(cookie, { livesMs, isBySession, atMs: sentAt });
      if (lifeMs === null || !(lifeMs > 0 && lifeMs < SHORT_LIFE_MS)) return [];
      const sentence = `The session’s cookie ${named} lives for ${duration(lifeMs)}: its maxAge may have been given in seconds, and milliseconds are expected`;
      return [{ ...common, severity: 'warn', sentence }];
    });
  },
};

export const cookieRules: readonly Rule[] = [
  cookieRejected,
  cookieNotDeleted,
  cookieTooLarge,
  cookieTooShort,
];
