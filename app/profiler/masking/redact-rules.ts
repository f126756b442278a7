/** Which part of a value under a secret name stays readable, and what is learned from it. redact.ts applies these rules. */
import { decodeBackslashes, decodePercent } from './redact-encoded.ts';
import { holdsMark, type Mark } from './redact-marks.ts';
import type { NameRule } from './redact-names.ts';
import { CUT_NOTE } from '../record/plain.ts';

/** Values that are not secret even under a secret name: a scheme, a constant, a word that says how things are, an SQL placeholder. */
export const NO_VALUE =
  /^(?:Basic|Bearer|Digest|Token|null|undefined|true|false|none|required|optional|missing|invalid|expired|failed|enabled|disabled|\?|\$\d+)$/i;

/** Headers whose value is a secret to the end of its line. */
export const LINE_NAME = /^(?:set-)?cookie$|authorization$|^sec-websocket-protocol$/i;

export interface TextMasking extends NameRule {
  mark: Mark;
  hide: (name: string, value: string) => string;
}

const PROTOCOLS = 'sec-websocket-protocol';
/**
 * Protocol names are short and contain few digits. No name registered with IANA contains digits together with letters of both cases.
 * A secret that looks like such a name is not recognised.
 */
const PROTOCOL = /^(?!(?:\D*\d){5})(?!(?=.*\d)(?=.*[a-z]).*[A-Z])[\w.+-]{1,24}$/;
const TELLS_SECRET = /bearer|token|auth|jwt|secret|key|password|sid|session|ticket|credential/i;

/**
 * The protocol list is the only header that a page can set for a WebSocket, so applications send tokens in it: alone, after a name
 * (`bearer, …`), or appended to one.
 */
function maskProtocols(value: string, hide: (part: string) => string): string {
  let before = '';
  return value.replace(/[^,\s](?:[^,]*[^,\s])?/g, (member) => {
    const isSecret = !PROTOCOL.test(member) || TELLS_SECRET.test(before);
    before = member;
    return isSecret ? hide(member) : member;
  });
}

/** The name in `theme=dark` stays readable; without `=` the whole text is the value. */
function maskCookie(pair: string, hide: (part: string) => string): string {
  const start = pair.indexOf('=') + 1;
  const value = pair.slice(start).trim();
  return value === '' ? pair : pair.slice(0, pair.indexOf(value, start)) + hide(value);
}

/** Masks a value by its name. Still readable: the scheme of an Authorization header, and names of cookies and protocols. */
export function maskByName(name: string, value: string, hide: (part: string) => string): string {
  const lower = name.toLowerCase();
  if (lower === 'cookie') return value.replace(/[^;]+/g, (pair) => maskCookie(pair, hide));
  if (lower === 'set-cookie') return value.replace(/^[^;]+/, (pair) => maskCookie(pair, hide));
  if (lower === PROTOCOLS) return maskProtocols(value, hide);
  const scheme = /^(?:Basic|Bearer|Digest|Negotiate|Token|AWS4-HMAC-SHA256)\s+/i.exec(value)?.[0] ?? '';
  return scheme + hide(value.slice(scheme.length));
}

const MOST_LEARNED = 100;
/** A value and its HMAC-SHA256 in base64, as signed cookies have it: `s:<session id>.<signature>`. */
const SIGNED = /^(?:s:)?(.+)\.[\w+/-]{43}=?$/;

export function learn(value: string, into: Map<string, string>): void {
  const whole = value.replace(CUT_NOTE, '');
  const pair = /^[A-Za-z0-9+/]{8,}={0,2}$/.test(whole) ? Buffer.from(whole, 'base64').toString('utf8') : '';
  const password = /^[^:\0-\x1f\ufffd]*:([^\0-\x1f\ufffd]+)$/.exec(pair)?.[1];
  const decoded = decodePercent(whole);
  const signed = SIGNED.exec(decoded)?.[1];
  for (const secret of [whole, decoded, decodeBackslashes(whole), password ?? whole, signed ?? whole]) {
    if (into.size >= MOST_LEARNED || holdsMark(secret) || into.has(secret)) continue;
    into.set(secret, secret === password || secret === signed ? secret : value);
  }
}
