/**
 * Masking, before anything leaves the memory of its request.
 *
 * Four rules, applied to everything that a profile holds: by name (`password`, `authorization`, `cookie` …, also inside
 * query strings, forms and JSON kept as text), by known value (the secrets of the configuration, wherever and however
 * encoded they occur), by shape (JWT, `user:password@`, private keys, well-known key prefixes), and by what this request
 * itself gave as a secret: a value masked by name is masked in its queries, logs and messages too.
 * The list of names is fixed when the redactor is made, never taken from input.
 */

export const MASK = '••••••';

/** A place where something was masked, and by which rule. */
export interface MaskedValue {
  /** Path in the profile, such as `panels.request.data.headers[2]`. */
  where: string;
  rule: 'name' | 'known value' | 'shape' | 'given as secret';
}

export interface Redactor {
  /** Masks a text that stands alone: a log line, a URL, a message. */
  text(value: string): string;
  /** Masks a tree of plain JSON in place of its strings; returns the new tree and where something was masked. */
  tree<T>(value: T): { value: T; masked: MaskedValue[] };
}

export interface RedactorOptions {
  /** Secret values by the name of their setting. */
  secrets?: Readonly<Record<string, string>>;
  /** Words that make a name secret, in addition to the built-in ones. */
  names?: readonly string[];
  /** Values that are public although they are set as a secret: names of host, schema, user, database. */
  publicValues?: readonly string[];
}

/** Shorter values would be masked inside ordinary words. */
const SHORTEST_KNOWN_VALUE = 8;
/** Longest string that a profile holds; the rest is counted in words. */
const LONGEST_STRING = 65_536;
/** Masked places listed per profile. */
const LISTED_PLACES = 200;
const DEEPEST = 40;

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

function createNameRule(extra: readonly string[]): (name: string) => boolean {
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
function patternOf(values: readonly string[]): RegExp | null {
  const long = values.filter((value) => value.length >= SHORTEST_KNOWN_VALUE);
  return long.length === 0 ? null : new RegExp(long.flatMap(spellingsOf).map(escapeRegExp).join('|'), 'g');
}

const SHAPES: readonly { test: RegExp; replace: string }[] = [
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
const MAYBE_SHAPE =
  /:\/\/|eyJ|-----BEGIN|AKIA|ASIA|gh[pousr]_|k_live_|k_test_|xox|Bearer|Basic|Digest|Token/i;

const PAIR_IN_QUERY = /([?&;]|^)([^=&?;\s"'<>]{1,200})=([^&;\s"'<>)]*)/g;
const PAIR_IN_JSON = /("(?:[^"\\]|\\.){1,200}"\s*:\s*)("(?:[^"\\]|\\.)*(?:"|$)|-?\d[\d.eE+-]*|true|false)/g;
const PAIR_IN_ESCAPED_JSON = /(\\"[^"\\]{1,200}\\"\s*:\s*)(\\"(?:[^"\\]|\\\\.)*?\\")/g;
const PAIR_IN_TEXT =
  /\b([A-Za-z][\w.-]{2,60})(\s*[:=]\s*)(?!\/\/)("[^"]{1,500}"|'[^']{1,500}'|[^\s,;&"'<>()[\]{}]{3,500})/g;

function decodeName(name: string): string {
  try {
    return decodeURIComponent(name.replaceAll('+', ' '));
  } catch {
    return name;
  }
}

/** What stays readable of a value that is masked by its name: the scheme of an Authorization, names of cookies. */
function maskByName(name: string, value: string): string {
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
function learn(name: string, value: string, into: Set<string>): void {
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

interface Pass {
  learned: Set<string>;
  masked: MaskedValue[];
}

export function createRedactor({
  secrets = {},
  names = [],
  publicValues = [],
}: RedactorOptions = {}): Redactor {
  const isSecretName = createNameRule(names);
  const known = patternOf(Object.values(secrets).filter((value) => !publicValues.includes(value)));

  function note(pass: Pass, where: string, rule: MaskedValue['rule']): void {
    if (pass.masked.length < LISTED_PLACES) pass.masked.push({ where, rule });
  }

  /** Masks `name=value`, `"name": "value"` and `name: value` inside a text. */
  function maskPairs(text: string, pass: Pass): string {
    let result = text;
    if (result.includes('=')) {
      result = result.replace(PAIR_IN_QUERY, (all, gap: string, name: string, value: string) => {
        const plainName = decodeName(name);
        if (value === '' || !isSecretName(plainName)) return all;
        learn(plainName, decodeName(value), pass.learned);
        return `${gap}${name}=${MASK}`;
      });
    }
    if (result.includes('":') || result.includes('" :')) {
      result = result.replace(PAIR_IN_JSON, (all, head: string, value: string) => {
        const name = head.slice(1, head.lastIndexOf('"'));
        if (!isSecretName(name) || value.includes(MASK)) return all;
        if (value.startsWith('"')) {
          try {
            learn(name, JSON.parse(value.endsWith('"') ? value : `${value}"`) as string, pass.learned);
          } catch {
            learn(name, value.slice(1, -1), pass.learned);
          }
        }
        return `${head}"${MASK}"`;
      });
    }
    if (result.includes('\\"')) {
      result = result.replace(PAIR_IN_ESCAPED_JSON, (all, head: string) =>
        isSecretName(head) ? `${head}\\"${MASK}\\"` : all,
      );
    }
    return result;
  }

  function maskLoosePairs(text: string): string {
    return text.replace(PAIR_IN_TEXT, (all, name: string, gap: string, value: string) => {
      if (
        !isSecretName(name) ||
        value.includes(MASK) ||
        /^(?:Basic|Bearer|Digest|Token|null|undefined|true|false)$/i.test(value)
      )
        return all;
      return `${name}${gap}${MASK}`;
    });
  }

  function maskText(text: string, where: string, pass: Pass): string {
    let result =
      text.length > LONGEST_STRING
        ? `${text.slice(0, LONGEST_STRING)}… (${text.length - LONGEST_STRING} more characters)`
        : text;
    if (known !== null) {
      const before = result;
      result = result.replace(known, MASK);
      if (result !== before) note(pass, where, 'known value');
    }
    if (MAYBE_SHAPE.test(result)) {
      const before = result;
      for (const { test, replace } of SHAPES) result = result.replace(test, replace);
      if (result !== before) note(pass, where, 'shape');
    }
    if (result.includes('=') || result.includes(':')) {
      const before = result;
      result = maskLoosePairs(maskPairs(result, pass));
      if (result !== before) note(pass, where, 'name');
    }
    return result;
  }

  function maskNamed(name: string, value: unknown, where: string, pass: Pass): unknown {
    if (value === null || value === '' || typeof value === 'boolean') return value;
    if (typeof value === 'string') {
      learn(name, value, pass.learned);
      note(pass, where, 'name');
      return maskText(maskByName(name, value), where, pass);
    }
    if (typeof value === 'number') {
      note(pass, where, 'name');
      return MASK;
    }
    if (Array.isArray(value))
      return value.map((item, index) => maskNamed(name, item, `${where}[${index}]`, pass));
    return undefined;
  }

  /** Rebuilds the tree with `leaf` applied to each string; recursion is bounded by the depth cap. */
  function walk(value: unknown, where: string, depth: number, pass: Pass): unknown {
    if (typeof value === 'string') return maskText(value, where, pass);
    if (typeof value !== 'object' || value === null) return value;
    if (depth > DEEPEST) return '[not followed]';
    if (Array.isArray(value))
      return value.map((item, index) => walk(item, `${where}[${index}]`, depth + 1, pass));
    const source = value as Record<string, unknown>;
    // { name: 'authorization', value: '…' }: a row of a table carries its name beside its value.
    const rowName = typeof source.name === 'string' && 'value' in source ? source.name : null;
    const result: Record<string, unknown> = {};
    for (const key of Object.keys(source)) {
      const place = where === '' ? key : `${where}.${key}`;
      const item = source[key];
      const name = rowName !== null && key === 'value' ? rowName : key;
      const masked = isSecretName(name) ? maskNamed(name, item, place, pass) : undefined;
      const safeKey = known === null ? key : key.replace(known, MASK);
      Object.defineProperty(result, safeKey, {
        value: masked === undefined ? walk(item, place, depth + 1, pass) : masked,
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
    return result;
  }

  /** Masks what this request gave as a secret, wherever else it turns up. */
  function forget(value: unknown, pattern: RegExp, where: string, depth: number, pass: Pass): unknown {
    if (typeof value === 'string') {
      const result = value.replace(pattern, MASK);
      if (result !== value) note(pass, where, 'given as secret');
      return result;
    }
    if (typeof value !== 'object' || value === null || depth > DEEPEST) return value;
    if (Array.isArray(value))
      return value.map((item, index) => forget(item, pattern, `${where}[${index}]`, depth + 1, pass));
    const source = value as Record<string, unknown>;
    for (const key of Object.keys(source)) {
      const place = where === '' ? key : `${where}.${key}`;
      const item = forget(source[key], pattern, place, depth + 1, pass);
      if (item !== source[key]) source[key] = item;
    }
    return source;
  }

  return {
    text(value) {
      return maskText(value, '', { learned: new Set(), masked: [] });
    },
    tree<T>(value: T) {
      const pass: Pass = { learned: new Set(), masked: [] };
      let result = walk(value, '', 0, pass);
      const pattern = patternOf([...pass.learned]);
      if (pattern !== null) result = forget(result, pattern, '', 0, pass);
      return { value: result as T, masked: pass.masked };
    },
  };
}
