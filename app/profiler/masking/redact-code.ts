/**
 * Masks literals in source code that `name: value` does not tell: keys as arguments, lists and maps of keys, what stands for a setting that
 * is missing, and what a name is compared with. Comments and sentences are masked as texts, if the value looks like a secret.
 */
import { holdsMark, isMark, type Mark } from './redact-marks.ts';
import { quotedBetween, rewrite } from './redact-quoted.ts';
import type { TextMasking } from './redact-rules.ts';

const LITERAL = String.raw`(["'\`])((?:[^\\"'\`\r\n]|\\.){1,500})`;
const ANY = String.raw`(?:"[^"\r\n]{0,200}"|'[^'\r\n]{0,200}'|\`[^\`\r\n]{0,200}\`)\s{0,5},\s{0,5}`;
/** Functions, and what stands before the argument that is their key or password. */
const ARGUMENTS = [
  String.raw`\bcreate(?:Hmac|Cipheriv|Decipheriv)\(\s{0,5}${ANY}`,
  String.raw`\b(?:jwt|jsonwebtoken)\.(?:sign|verify)\([^"'\`\r\n]{0,200},\s{0,5}`,
  String.raw`\bnew Sequelize\(\s{0,5}${ANY}${ANY}`,
  String.raw`\b(?:cookieParser|scrypt|scryptSync|pbkdf2|pbkdf2Sync|(?:bcrypt|bcryptjs|argon2)\.(?:hash|hashSync))\(\s{0,5}`,
  String.raw`(?<![.\w])(?:hash|digest|derive)(?:Password|Key)?(?:Sync)?\(\s{0,5}`,
].map((before) => new RegExp(`(${before})${LITERAL}\\2`, 'g'));

const NAME = String.raw`(?<![\w$-])([A-Za-z_$][\w$-]{1,60})`;
const TYPE = String.raw`(?:\s{0,3}:[^=;,(){}"'\`\r\n]{1,100}(?==))?`;
const BYTES = String.raw`(?:(?:Buffer\.from|atob|createSecretKey)\(\s{0,5}){1,2}`;
/** `const token: string = '…'`, `key = Buffer.from('…')`, `process.env.KEY ?? '…'` */
const DECLARED = [
  String.raw`${NAME}${TYPE}\s{0,5}=\s{0,5}`,
  String.raw`${NAME}${TYPE}\s{0,5}[:=]\s{0,5}${BYTES}`,
  String.raw`\benv(?:\.|\[["'])${NAME}(?:["']\])?\s{0,5}(?:\?\?|\|\|)=?\s{0,5}`,
].map((before) => new RegExp(`(${before})${LITERAL}\\3`, 'g'));
/** `apiKey !== '…'`, `req.headers['x-api-key'] === '…'`, `this.token ??= '…'`, `set('x-api-key', '…')`, `setPassword('…')` */
const BESIDE = [
  String.raw`${NAME}["']?[)\]]{0,3}\s{0,5}(?:[=!]==?|\?\?=?|\|\|=?)\s{0,5}`,
  String.raw`["'\`]${NAME}["'\`]\s{0,5},\s{0,5}`,
  // The first argument of createHmac and its like is the algorithm.
  String.raw`(?!create)${NAME}\(\s{0,5}`,
].map((before) => new RegExp(`(${before})${LITERAL}\\3`, 'g'));
/** `'…' === req.get('x-api-key')` */
const BEFORE_NAME = new RegExp(
  String.raw`${LITERAL}\1(\s{0,5}[=!]==?\s{0,5}(?:[\w$]{1,60}(?:\?\.|\.|[([]["'])){0,6})([A-Za-z_$][\w$-]{1,60})`,
  'g',
);

/** Comments and literals. */
const TEXTS = /^[ \t]*(?:\/\/|\/?\*)[^\r\n]*|\s\/\/\s[^\r\n]*|(["'`])(?:(?!\1)[^\\\r\n]|\\.){1,1000}\1/gm;
/** A comment, or a literal with a blank. */
const IS_PROSE = /^\s*\/|^\s*\*|\s|\\n/;
/** A column or a field, and a parameter. */
const IS_NAME = /^[\w$]+(?:\.[\w$]+)+$|^[$:@?]/;
const SHORTEST_SECRET = 6;

/** What stands beside a name in code is seldom its value: a secret has a digit. */
function looksSecret(value: string): boolean {
  return value.length >= SHORTEST_SECRET && /\d/.test(value) && !/\s/.test(value) && !holdsMark(value);
}

function maskNamed(text: string, { isSecret, mark }: TextMasking): string {
  const maskAll = (before: string, expressions: readonly RegExp[], isValue: (value: string) => boolean) =>
    expressions.reduce(
      (shown, expression) =>
        shown.replace(expression, (all, head: string, name: string, quote: string, value: string) =>
          isMark(value) || !isValue(value) || !isSecret(name, value)
            ? all
            : `${head}${quote}${mark(value)}${quote}`,
        ),
      before,
    );
  const declared = maskAll(text, DECLARED, (value) => value.length >= SHORTEST_KEY);
  return maskAll(declared, BESIDE, looksSecret).replace(
    BEFORE_NAME,
    (all, quote: string, value: string, between: string, name: string) =>
      isMark(value) || !looksSecret(value) || !isSecret(name, value)
        ? all
        : `${quote}${mark(value)}${quote}${between}${name}`,
  );
}

/** `maskText`: how any other text is masked. */
function maskProse(
  text: string,
  masking: TextMasking,
  maskText: (text: string, masking: TextMasking) => string,
): string {
  const mark: Mark = (value, type) =>
    looksSecret(value) && !IS_NAME.test(value) ? masking.mark(value, type) : value;
  const careful = { ...masking, mark, hide: (_name: string, value: string) => mark(value) };
  return text.replace(TEXTS, (part) => (IS_PROSE.test(part) ? maskText(part, careful) : part));
}

/** Where a list, a map or an object begins that is named after keys; what stands in others with that name has digits. */
const COLLECTION =
  /\b([A-Za-z_$][\w$]{0,60})(?:\s{0,3}:[^=\r\n]{0,100}=|\s{0,3}[:=])\s{0,3}(?:new (?:Map|Set)(?:<[^>\r\n]{0,100}>)?\(\s{0,5})?(?=[[{])/g;
const OF_SECRETS = /(?:^|[_a-z])(?:secrets?|tokens?|passwords?|passwds?|credentials?|api_?keys?)$/i;
const OF_KEYS = /(?:^|[_a-z])keys$/i;
/** `users: { admin: '…' }` */
const USERS = /^users$/i;
const FLAT_MAP = /^\{[^[\]{}]*$/;
const LONGEST = 4000;
const SHORTEST_KEY = 4;

function endOfBracket(text: string, start: number): number {
  let depth = 0;
  const most = Math.min(text.length, start + LONGEST);
  for (let at = start; at < most; at++) {
    const char = text.charAt(at);
    if (char === '[' || char === '{' || char === '(') depth++;
    if ((char === ']' || char === '}' || char === ')') && --depth === 0) return at;
  }
  return most;
}

function maskCollections(text: string, { mark }: TextMasking): string {
  return rewrite(text, COLLECTION, (match, replace) => {
    const [whole, name = ''] = match;
    const isOfUsers = USERS.test(name);
    if (!isOfUsers && !OF_SECRETS.test(name) && !OF_KEYS.test(name)) return;
    const start = match.index + whole.length;
    const last = endOfBracket(text, start);
    if (isOfUsers && !FLAT_MAP.test(text.slice(start, last))) return;
    const isSecret = !OF_KEYS.test(name);
    for (const { start: from, open, value, close, end } of quotedBetween(text, start, last))
      if (value.length >= SHORTEST_KEY && !isMark(value) && (isSecret || /\d/.test(value)))
        replace(from, end, open + mark(value) + close);
  });
}

/** `maskText`: how any other text is masked. */
export function maskCode(
  text: string,
  masking: TextMasking,
  maskText: (text: string, masking: TextMasking) => string,
): string {
  const { mark } = masking;
  const plain = ARGUMENTS.reduce(
    (before, expression) =>
      before.replace(expression, (all, head: string, quote: string, key: string) =>
        isMark(key) ? all : `${head}${quote}${mark(key)}${quote}`,
      ),
    text,
  );
  return maskProse(maskNamed(maskCollections(plain, masking), masking), masking, maskText);
}
