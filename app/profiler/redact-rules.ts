/**
 * What is a secret: names, shapes, and the spellings under which a known value may turn up. Fixed rules, nothing of a
 * request; redact.ts applies them.
 */

export const MASK = '••••••';

/** Shorter values would be masked inside ordinary words. */
export const SHORTEST_KNOWN_VALUE = 8;

const SECRET_WORDS = [
  'password', 'passwd', 'passphrase', 'passcode', 'pwd', 'pass', 'secret', 'secrets', 'token', 'tokens', 'auth', 'authorization',
  'apikey', 'cookie', 'cookies', 'credential', 'credentials', 'signature', 'sig', 'otp', 'totp', 'ssn', 'cvv', 'cvc', 'csrf',
  'xsrf', 'jwt', 'bearer', 'sid', 'sessionid', 'pin', 'iban',
]; // prettier-ignore
const SECRET_JOINED =
  /password|passwd|passwort|secret|apikey|accesskey|privatekey|signingkey|encryptionkey|cardnumber|creditcard|authtoken|accesstoken|refreshtoken|sessiontoken|sessionid|xauthkey/;
/** Names that hold a secret word and no secret: our own headers, and what only describes. */
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

/** `userPassword`, `user[password]`, `X-Api-Key` -> words in lower case. */
function wordsOf(name: string): string[] {
  return name
    .slice(0, 200)
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
}

export function createNameRule(extra: readonly string[]): (name: string) => boolean {
  const words = new Set([...SECRET_WORDS, ...extra.map((word) => word.toLowerCase())]);
  const known = new Map<string, boolean>();
  return (name) => {
    const before = known.get(name);
    if (before !== undefined) return before;
    const parts = wordsOf(name);
    const joined = parts.join('');
    const secret =
      !PUBLIC_NAMES.has(joined) && (parts.some((word) => words.has(word)) || SECRET_JOINED.test(joined));
    if (known.size > 5000) known.clear();
    known.set(name, secret);
    return secret;
  };
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');
}

/** The spellings under which a value may turn up: plain, percent-encoded, form-encoded, JSON-escaped, base64 at any offset. */
function spellingsOf(value: string): string[] {
  const encoded = encodeURIComponent(value.toWellFormed());
  const spellings = new Set([
    value,
    encoded,
    encoded.replace(/%20/g, '+'),
    encoded.replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`),
    JSON.stringify(value).slice(1, -1),
  ]);
  for (const lower of [...spellings])
    spellings.add(lower.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()));
  for (let offset = 0; offset < 3; offset++) {
    const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(value)]);
    const whole = Math.floor(bytes.length / 3) * 3;
    const base64 = bytes
      .subarray(0, whole)
      .toString('base64')
      .slice(Math.ceil((offset * 8) / 6));
    if (base64.length < SHORTEST_KNOWN_VALUE) continue;
    spellings.add(base64);
    spellings.add(base64.replaceAll('+', '-').replaceAll('/', '_'));
  }
  return [...spellings].sort((a, b) => b.length - a.length);
}

/** One expression for all values in all spellings; null where there are none. */
export function patternOf(values: readonly string[]): RegExp | null {
  const long = values.filter((value) => value.length >= SHORTEST_KNOWN_VALUE);
  return long.length === 0 ? null : new RegExp(long.flatMap(spellingsOf).map(escapeRegExp).join('|'), 'g');
}

export const SHAPES: readonly { test: RegExp; replace: string }[] = [
  { test: /([a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@'"<>]{0,200}):[^\s/@'"<>]{1,500}@/gi, replace: `$1:${MASK}@` },
  { test: /\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}/g, replace: MASK },
  {
    test: /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]{0,20000}?-----END [A-Z ]*PRIVATE KEY-----/g,
    replace: MASK,
  },
  {
    test: /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{30,}\b|\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}\b|\bxox[abprs]-[A-Za-z0-9-]{10,}\b/g,
    replace: MASK,
  },
  { test: /\b(Bearer|Basic|Digest|Token)(\s+)[A-Za-z0-9._~+/=-]{8,}/g, replace: `$1$2${MASK}` },
];
/** Cheap test before the shapes are tried. */
export const MAYBE_SHAPE =
  /:\/\/|eyJ|-----BEGIN|AKIA|ASIA|gh[pousr]_|k_live_|k_test_|xox|Bearer|Basic|Digest|Token/i;

export const PAIR_IN_QUERY = /([?&;]|^)([^=&?;\s"'<>]{1,200})=([^&;\s"'<>)]*)/g;
export const PAIR_IN_JSON =
  /("(?:[^"\\]|\\.){1,200}"\s*:\s*)("(?:[^"\\]|\\.)*(?:"|$)|-?\d[\d.eE+-]*|true|false)/g;
export const PAIR_IN_ESCAPED_JSON = /(\\"[^"\\]{1,200}\\"\s*:\s*)(\\"(?:[^"\\]|\\\\.)*?\\")/g;
export const PAIR_IN_TEXT =
  /\b([A-Za-z][\w.-]{2,60})(\s*[:=]\s*)(?!\/\/)("[^"]{1,500}"|'[^']{1,500}'|[^\s,;&"'<>()[\]{}]{3,500})/g;

/** What stands behind a secret name and is none: a scheme, a constant, a placeholder of SQL. */
export const NO_VALUE = /^(?:Basic|Bearer|Digest|Token|null|undefined|true|false|\?|\$\d+|[:@]\w+)$/i;
/** `<password>…</password>`, and a part of a multipart body. */
export const PAIR_IN_XML = /(<([A-Za-z_][\w.:-]{0,60})(?:\s[^<>]{0,500})?>)([^<>]{1,2000})(?=<\/)/g;
export const PAIR_IN_MULTIPART =
  /(\bname="([^"\r\n]{1,200})"[^\r\n]{0,500}\r?\n(?:[^\r\n]{1,500}\r?\n){0,5}\r?\n)([^\r\n]{1,4000})/g;

export function decodeName(name: string): string {
  try {
    return decodeURIComponent(name.replaceAll('+', ' '));
  } catch {
    return name;
  }
}

/** What stays readable of a value that is masked by its name: the scheme of an Authorization, names of cookies. */
export function maskByName(name: string, value: string): string {
  const lower = name.toLowerCase();
  if (lower === 'cookie')
    return value.replace(
      /(^|;\s*)([^=;]*)=([^;]*)/g,
      (_all, gap: string, key: string) => `${gap}${key}=${MASK}`,
    );
  if (lower === 'set-cookie')
    return value.replace(/^([^=;]*)=([^;]*)/, (_all, key: string) => `${key}=${MASK}`);
  const scheme = /^(Basic|Bearer|Digest|Negotiate|Token|AWS4-HMAC-SHA256)\s/i.exec(value);
  return scheme === null ? MASK : `${scheme[1] ?? ''} ${MASK}`;
}

/** Secret parts of a value masked by name, to be found again elsewhere in the same request. */
export function learn(name: string, value: string, into: Set<string>): void {
  const lower = name.toLowerCase();
  const parts =
    lower === 'cookie'
      ? value.split(/;\s*/).map((pair) => pair.slice(pair.indexOf('=') + 1))
      : lower === 'set-cookie'
        ? [(value.split(';')[0] ?? '').replace(/^[^=]*=/, '')]
        : lower.endsWith('authorization')
          ? [value.replace(/^\S+\s+/, '')]
          : [value];
  for (const part of parts) {
    if (part.length >= SHORTEST_KNOWN_VALUE && part.length <= 4096 && into.size < 100 && !part.includes(MASK))
      into.add(part);
    if (lower.endsWith('authorization') && /^[A-Za-z0-9+/=]+$/.test(part)) {
      const password = Buffer.from(part, 'base64')
        .toString('utf8')
        .replace(/^[^:]*:/, '');
      if (password.length >= SHORTEST_KNOWN_VALUE && into.size < 100) into.add(password);
    }
  }
}
