/** Decides which values are secret by their name, and which part of them stays readable. redact.ts applies these rules. */

import { createMemory } from './redact-memory.ts';
import type { SecretNames } from './redact-names.ts';

export const MASK = '••••••';

const SECRET_WORDS = [
  'password', 'passwd', 'passphrase', 'passcode', 'pwd', 'pass', 'secret', 'secrets', 'token', 'tokens', 'auth', 'authorization',
  'apikey', 'cookie', 'cookies', 'credential', 'credentials', 'signature', 'sig', 'otp', 'totp', 'ssn', 'cvv', 'cvc', 'csrf',
  'xsrf', 'jwt', 'bearer', 'sid', 'sessionid', 'pin', 'iban',
]; // prettier-ignore
const SECRET_JOINED = [
  'password', 'passwd', 'passwort', 'secret', 'apikey', 'accesskey', 'privatekey', 'signingkey', 'encryptionkey', 'cardnumber',
  'creditcard', 'authtoken', 'accesstoken', 'refreshtoken', 'sessiontoken', 'sessionid', 'xauthkey', 'secwebsocketprotocol',
]; // prettier-ignore
const HOLDS_JOINED = new RegExp(SECRET_JOINED.join('|'));
/** Names that contain a secret word but have no secret value: our own headers, and descriptions. */
const PUBLIC_NAMES = new Set([
  'xdebugtoken',
  'xdebugtokenlink',
  'xpreviousdebugtoken',
  'debugtoken',
  'tokencount',
  'maxtokens',
  'tokentype',
  'cookieparser',
]);

/** Of a long name both ends are checked, so that padding can't hide a word. */
const NAME_END = 200;
/** Longer names are not cached. */
const LONGEST_REMEMBERED = 100;
const MOST_REMEMBERED = 2500;

/** `userPassword`, `user[password]`, `X-Api-Key` -> words in lower case. */
function wordsOf(name: string): string[] {
  return (name.length > 2 * NAME_END ? `${name.slice(0, NAME_END)} ${name.slice(-NAME_END)}` : name)
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
}

/** Words that make a name secret. `extra` may be in upper or lower case. */
export function secretNames(extra: readonly string[]): SecretNames {
  return { words: [...SECRET_WORDS, ...extra.map((word) => word.toLowerCase())], joined: SECRET_JOINED };
}

/** Whether a name says that its value is a secret. */
export function createNameRule(names: SecretNames): (name: string) => boolean {
  const words = new Set(names.words);
  const known = createMemory<boolean>(MOST_REMEMBERED);
  return (name) => {
    const before = known.get(name);
    if (before !== undefined) return before;
    const parts = wordsOf(name);
    const joined = parts.join('');
    const secret =
      !PUBLIC_NAMES.has(joined) && (parts.some((word) => words.has(word)) || HOLDS_JOINED.test(joined));
    if (name.length <= LONGEST_REMEMBERED) known.set(name, secret);
    return secret;
  };
}

/** Values that are not secret even under a secret name: a scheme, a constant, an SQL placeholder. */
export const NO_VALUE = /^(?:Basic|Bearer|Digest|Token|null|undefined|true|false|\?|\$\d+)$/i;

export function decodeName(name: string): string {
  try {
    return decodeURIComponent(name.replaceAll('+', ' '));
  } catch {
    return name;
  }
}

/** The name in `theme=dark` stays readable; without `=` the whole text is the value. */
function maskCookie(pair: string): string {
  const at = pair.indexOf('=');
  return at === -1 ? pair.replace(/\S.*/, MASK) : `${pair.slice(0, at)}=${MASK}`;
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
function protocolSecrets(value: string): string[] {
  const members = value.split(',').map((member) => member.trim());
  return members.filter(
    (member, index) =>
      member !== '' && (!PROTOCOL.test(member) || (index > 0 && TELLS_SECRET.test(members[index - 1] ?? ''))),
  );
}

function maskProtocols(value: string): string {
  const secrets = new Set(protocolSecrets(value));
  return value
    .split(',')
    .map((member) => (secrets.has(member.trim()) ? member.replace(/\S.*\S|\S/, MASK) : member))
    .join(',');
}

/** Masks a value by its name. Still readable: the scheme of an Authorization header, and names of cookies and protocols. */
export function maskByName(name: string, value: string): string {
  const lower = name.toLowerCase();
  if (lower === 'cookie') return value.replace(/[^;]+/g, maskCookie);
  if (lower === 'set-cookie') return value.replace(/^[^;]+/, maskCookie);
  if (lower === PROTOCOLS) return maskProtocols(value);
  const scheme = /^(Basic|Bearer|Digest|Negotiate|Token|AWS4-HMAC-SHA256)\s/i.exec(value);
  return scheme === null ? MASK : `${scheme[1] ?? ''} ${MASK}`;
}

/** Limits on the values learned from one request: number and length. */
const MOST_LEARNED = 100;
const LONGEST_LEARNED = 1000;

function cookieValue(pair: string): string {
  return pair.slice(pair.indexOf('=') + 1).trim();
}

function partsOf(name: string, value: string): string[] {
  if (name === 'cookie') return value.split(';').map(cookieValue);
  if (name === 'set-cookie') return [cookieValue(value.split(';', 1)[0] ?? '')];
  if (name === PROTOCOLS) return protocolSecrets(value);
  if (!name.endsWith('authorization')) return [value];
  const credentials = value.replace(/^\S+\s+/, '');
  if (!/^[A-Za-z0-9+/=]+$/.test(credentials)) return [credentials];
  const pair = Buffer.from(credentials, 'base64').toString('utf8');
  return [credentials, pair.replace(/^[^:]*:/, '')];
}

/** Collects the secret parts of a value masked by name, to mask them everywhere in the same request. */
export function learn(name: string, value: string, into: Set<string>): void {
  // The note that cutText appends is not part of the value.
  const whole = value.replace(/… \(\d+ more characters\)$/, '');
  for (const part of partsOf(name.toLowerCase(), whole)) {
    for (const spelling of part.includes('%') ? [part, decodeName(part)] : [part]) {
      if (into.size >= MOST_LEARNED || spelling.includes(MASK)) continue;
      into.add(spelling.slice(0, LONGEST_LEARNED));
    }
  }
}
