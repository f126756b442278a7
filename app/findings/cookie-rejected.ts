/** A cookie that browsers reject, because of its flags or because the response was sent over http. */
import type { KeptRequest } from '../panels/request/data.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { sentHeaders } from './shared/http.ts';
import { isUntrustedHttps } from './shared/proxy.ts';
import { count } from './shared/wording.ts';

/** Browsers treat these hosts as secure over http, too. */
const LOCAL = /^(?:(?:.+\.)?localhost|127\.\d+\.\d+\.\d+|\[::1\])$/i;

interface Cookie {
  name: string;
  /** By lower-case names. */
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

/** Why browsers reject it; null if they don't. */
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

export const cookieRejected: FindingRule<{ request: KeptRequest }> = {
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
