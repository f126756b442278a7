/** Masks literals in source code that no name beside them tells: keys as arguments, lists and maps of keys. */
import { isMark } from './redact-marks.ts';
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

/** Where a list, a map or an object begins that is named after keys; what stands in others with that name has digits. */
const COLLECTION =
  /\b([A-Za-z_$][\w$]{0,60})(?:\s{0,3}:[^=\r\n]{0,100}=|\s{0,3}[:=])\s{0,3}(?:new (?:Map|Set)(?:<[^>\r\n]{0,100}>)?\(\s{0,5})?(?=[[{])/g;
const OF_SECRETS = /(?:^|[_a-z])(?:secrets?|tokens?|passwords?|passwds?|credentials?|api_?keys?)$/i;
const OF_KEYS = /(?:^|[_a-z])keys$/i;
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
    const isSecret = OF_SECRETS.test(name);
    if (!isSecret && !OF_KEYS.test(name)) return;
    const start = match.index + whole.length;
    for (const { start: from, open, value, close, end } of quotedBetween(
      text,
      start,
      endOfBracket(text, start),
    ))
      if (value.length >= SHORTEST_KEY && !isMark(value) && (isSecret || /\d/.test(value)))
        replace(from, end, open + mark(value) + close);
  });
}

export function maskCode(text: string, masking: TextMasking): string {
  const { mark } = masking;
  const plain = ARGUMENTS.reduce(
    (before, expression) =>
      before.replace(expression, (all, head: string, quote: string, key: string) =>
        isMark(key) ? all : `${head}${quote}${mark(key)}${quote}`,
      ),
    text,
  );
  return maskCollections(plain, masking);
}
