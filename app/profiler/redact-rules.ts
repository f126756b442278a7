/** Which part of a value under a secret name stays readable, and what is learned from it. redact.ts applies these rules. */

export const MASK = '••••••';

/** Values that are not secret even under a secret name: a scheme, a constant, a word that says how things are, an SQL placeholder. */
export const NO_VALUE =
  /^(?:Basic|Bearer|Digest|Token|null|undefined|true|false|none|required|optional|missing|invalid|expired|failed|enabled|disabled|\?|\$\d+)$/i;

/** What the rules by name need. */
export interface TextMasking {
  isSecretName: (name: string) => boolean;
  /** The same for a name that is ambiguous without its value. The first 200 characters of the value are enough. */
  isSecret: (name: string, value: string) => boolean;
  learn: (name: string, value: string) => void;
}

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
  // The note that truncateText appends is not part of the value.
  const whole = value.replace(/… \(\d+ more characters\)$/, '');
  for (const part of partsOf(name.toLowerCase(), whole)) {
    for (const spelling of part.includes('%') ? [part, decodeName(part)] : [part]) {
      if (into.size >= MOST_LEARNED || spelling.includes(MASK)) continue;
      into.add(spelling.slice(0, LONGEST_LEARNED));
    }
  }
}
