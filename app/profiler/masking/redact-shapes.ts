/**
 * Masks secrets by their shape, whatever their name: tokens that say by their beginning whose they are (GitHub documents its own and those
 * of its partners, "supported secret scanning patterns"), web tokens, private keys, passwords in addresses, payment cards (ISO/IEC 7812,
 * Luhn's check digit) and IBANs (ISO 13616, check digits of ISO 7064).
 */
import type { Mark } from './redact-marks.ts';
import { looksRandom } from './redact-names.ts';
import { rewrite } from './redact-quoted.ts';

const LOOSE = '(?=[A-Za-z_-]{0,200}\\d)[\\w-]{16,}';
const TOKENS: readonly (readonly [rest: string, prefixes: string])[] = [
  ['[0-9A-Z]{16,}', 'AKIA ASIA ABIA ACCA'],
  ['[A-Za-z0-9]{30,}', 'ghp_ gho_ ghu_ ghs_ ghr_ npm_ hf_'],
  [LOOSE, 'github_pat_ glpat- gldt- glrt- glcbt- glptt- glft- glsoat- gloas- glimt- sk_live_ sk_test_ rk_live_ rk_test_ whsec_ xapp- sk-proj-'],
  [LOOSE, 'sk-ant- sk-or- GOCSPX- sq0atp- sq0csp- PMAK- NRAK- sntrys_ sntryu_ ntn_ figd_ dckr_pat_ ATATT3 tskey- pscale_tkn_ pscale_pw_'],
  [LOOSE, 'pscale_oauth_ glsa_ glc_ xkeysib- xsmtpsib- gsk_ pplx- nfp_ sbp_ sb_secret_ rubygems_ lin_api_ phx_ pypi- CCIPAT_ bkua_ HRKU- ops_'],
  [LOOSE, 'AGE-SECRET-KEY-1 r8_ secret_ fio-u- oy2 xai-'],
  ['(?=[A-Za-z]*\\d)[A-Za-z0-9]{20,}', 'sk-'],
  [LOOSE, 'CFPAT- pcsk_ lsv2_pt_ lsv2_sk_ napi_ FLWSECK- sgp_ tfp_ rnd_ pnu_ rdme_ glagent- glffct- duffel_live_ duffel_test_ vcp_ vercel_blob_rw_'],
  [LOOSE, 'fm2_ fo1_ tvly- jina_ nvapi- ddp_ ATBB ATCTT3 access_token$production$ access-production- access-sandbox- wandb_v1_ AQVN'],
  [LOOSE, 'sk-svcacct- sk-admin- sk-None- sk-lf- glrtr- glwt- vca_ vci_ vck_ vcr_ cfut_ cfat_ cfk_ dckr_oat_ tgp_v1_ e2b_ csk- squ_ sqp_ hcaik_ lin_oauth_'],
  [LOOSE, 'figu_ nfc_ mlsn. pat-na1- pat-eu1- xwfp- apify_api_ shpua_ rpa_ tr_prod_ tr_dev_ signkey-prod- signkey-test- SWMTKN- sl.u. sk_org_live_'],
  ['\\d{1,12}_eyJ[\\w.-]{20,}', 'ghs_'],
  ['[\\w+/-]{60,}={0,2}', 'ABSK bedrock-api-key-'],
  ['[\\w-]{30,}', 'AQ.Ab'],
  ['[\\w-]{20,}', 'v1.local. v2.local. v3.local. v4.local. v2.public. v3.public. v4.public.'],
  ['[A-Za-z0-9]{100,}', 'xprv yprv zprv tprv'],
  ['[a-z0-9]{58}', 'nsec1'],
  ['[A-Za-z0-9]{16,}', 'LTAI EZAK EZTK AKCp'],
  ['[A-Za-z0-9]{30,}', 'live_ test_'],
  ['[a-f0-9]{32,}', 'sk_ fc- shptka_'],
  ['[A-Za-z0-9]{80,}', 'EAA'],
  ['[\\w-]{100,}', 'sl.'],
  ['[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}', 're_'],
  ['[A-Z0-9]{20,}\\.[A-Z0-9]{40,}', 'dt0c01.'],
  ['[\\w-]{10,}\\.[\\w-]{20,}', 'sk.eyJ'],
  ['[A-Za-z0-9]{14}\\.[a-f0-9]{64}', 'pat'],
  ['[\\w-]{35}', 'AIza'],
  ['[\\w-]{20,}', '1//0'],
  ['[\\w.-]{20,}', 'ya29. hvs. hvb. hvr. dp.pt. dp.st. SG.'],
  ['[A-Za-z0-9%.-]{10,}', 'xoxa- xoxb- xoxc- xoxd- xoxe- xoxe. xoxp- xoxr- xoxs-'],
  ['[a-fA-F0-9]{32,}', 'shpat_ shpca_ shppa_ shpss_ dop_v1_ doo_v1_ dor_v1_ dapi key- pul-'],
]; // prettier-ignore

/** What a limit of length left of one. */
const TRUNCATED = '[\\w$+/.=,:%-]{4,120}(?=… \\(\\d)';
const SERVICES: readonly (readonly [rest: string, head: string])[] = [
  ['[\\w/]{20,}', 'hooks\\.slack\\.com/services/'],
  ['[\\w-]{20,}', 'discord(?:app)?\\.com/api/webhooks/\\d{5,25}/'],
  ['[\\w/]{8,}', 'hooks\\.zapier\\.com/hooks/catch/'],
  ['[\\w@/-]{20,}', '[\\w-]{1,60}\\.webhook\\.office\\.com/webhookb2/'],
  // Bots of Telegram and Discord, Azure, Mailchimp and Mailgun, Salesforce, Terraform, sealed cookies.
  ['[\\w-]{33}', '\\d{8,10}:AA'],
  ['[\\w~.-]{31,34}', '[\\w~.-]{3}\\dQ~'],
  ['[\\w-]{27,40}', '[MNO][\\w-]{23,27}\\.[\\w-]{6}\\.'],
  ['[A-Za-z0-9]{20,30}', '[A-Za-z0-9]{52}JQQJ9'],
  ['(?:us\\d{1,2}|[0-9a-f]{8}-[0-9a-f]{8})(?![\\w-])', '[0-9a-f]{32}-'],
  ['[\\w.]{40,}', '00D\\w{12,15}!'],
  ['[\\w-]{40,}', '[A-Za-z0-9]{14}\\.atlasv1\\.'],
  ['[\\w*-]{60,}', 'Fe26\\.2\\*\\*?'],
];
/** Of passwords, as servers store them; and a bot of Telegram in an address. */
const HASHES: readonly (readonly [rest: string, head: string])[] = [
  ['[\\w-]{30,}', '/bot\\d{6,12}:'],
  ['[\\w$+/.=,-]{30,}', '\\$(?:(?:[1567PHS]|2[abxy]?|apr1|g?y|scrypt)\\$|argon2[id]|pbkdf2)'],
  ['[\\w$+/.=,-]{30,}', 'pbkdf2[:_]sha\\d{1,3}[:$]'],
  ['[\\w+/]{28,}={0,2}', '\\{S?SHA\\d{0,3}\\}'],
  ['[\\w+/=$:]{40,}', 'SCRAM-SHA-\\d{1,3}\\$\\d{1,7}:'],
  ['[0-9A-F]{35}(?!\\w)', '\\*[0-9A-F]{5}'],
];

function tokenExpression(): RegExp {
  const either = (list: typeof HASHES): string =>
    list.map(([rest, head]) => `(?:${head})(?:${rest}|${TRUNCATED})`).join('|');
  const words = TOKENS.map(
    ([rest, prefixes]) => [rest, prefixes.replaceAll(/[.+/$]/g, '\\$&').replaceAll(' ', '|')] as const,
  );
  return new RegExp(`(?<![A-Za-z0-9])(?:${either([...words, ...SERVICES])})|${either(HASHES)}`, 'g');
}

const TOKEN = tokenExpression();

function partsAfter(header: string): number {
  return Buffer.from(header, 'base64url').toString('latin1').includes('"enc"') ? 4 : 2;
}

/** `run`: characters that a JSON Web Token may contain. Masks the whole token, the last part perhaps truncated. */
function maskWebTokens(run: string, mark: Mark): string {
  if (!run.includes('eyJ')) return run;
  const parts = run.split('.');
  for (let index = 0; index + 1 < parts.length; index++) {
    const part = parts[index] ?? '';
    const at = part.lastIndexOf('eyJ');
    if (at === -1 || part.length - at < 8) continue;
    const after = partsAfter(part.slice(at));
    if (after === 2 && parts[index + 1]?.startsWith('eyJ') !== true) continue;
    const token = [part.slice(at), ...parts.slice(index + 1, index + 1 + after)].join('.');
    parts.splice(index, 1 + after, part.slice(0, at) + mark(token));
  }
  return parts.join('.');
}

const PRIVATE_KEY =
  /-{4,5} ?BEGIN (?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|PGP MESSAGE) ?-{4,5}[\s\S]*?(?:-{4,5} ?END [A-Z0-9 ]{0,60}-{4,5}|$)/g;
const KEY_END = /-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}/g;
/** Perhaps in quotes that `+` joins. */
const KEY_LINE = /^[\s"'`]*[\w+/=]{16,200}(?:\\r)?(?:\\n)?[\s"'`+,]*$/;
/** PKCS #1 and #8 in base64, without their first line: the header of RSA, of an elliptic curve, of Ed25519. */
const BARE_KEY =
  /(?<![A-Za-z0-9+])M[A-Z][\w+/]{1,6}(?:IBADANBgkq|IBAAKC|AgEAMBMGByqG|AgEAMBAGByqG|CAQAwBQYDK2)[\w+/\s\\]{20,}={0,2}/g;
/** As PuTTY writes one. */
const PRIVATE_LINES = /(Private-Lines: \d{1,5}\s{1,5})[\w+/=\s\\]+?(?:Private-MAC: \w+|$)/g;
const SCHEME =
  /\b((?:Bearer|Basic|Digest|Token|AUTH (?:PLAIN|LOGIN|XOAUTH2|CRAM-MD5))(?:\s|%20|\+){1,20})([A-Za-z0-9._~+/=-]{8,})/g;
const DIGEST =
  /\b(Digest\s{1,20})(\w{1,20}=(?:"[^"]{0,500}(?:"|$)|[^\s,"]{1,500})(?:,\s{0,5}\w{1,20}=(?:"[^"]{0,500}(?:"|$)|[^\s,"]{1,500})){1,20})/g;
/** Many passwords contain `@` and `/`, though an address has to encode them. A number and a slash are a port and its path. */
const ADDRESS =
  /([a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@'"<>[]*:)(?!\d{1,5}(?:[/?#…]|$))([^\s/"<>]+(?=@)|[^\s/'"<>]{0,100}\/[^\s@'"<>]{0,100}(?=@)|(?![$`{]|\d{1,5}(?!\w))[^\s/@'"<>\\]+(?=… \(\d|$))/gi;
/** A token in place of user and password: `https://TOKEN@github.com`. */
const USER = /(:\/\/)([\w.~+%-]{16,200})(?=@|… \(\d)/g;
/** The path of a link that lets in whoever has it. */
const LINK =
  /(\/(?:reset(?:[-_]?password)?|set[-_]?password|password[-_/]reset|(?:forgot|change)[-_]?password|magic(?:[-_]?link)?|(?:verify|confirm)(?:[-_]?(?:email|account))?|email[-_/](?:verify|confirm)|activat(?:e|ion)|unsubscribe|invit(?:e|ation)s?|tokens?)\/)([\w.~=-]{12,500})/gi;
/** The same, percent-encoded in another address, perhaps more than once: `next=https%3A%2F%2Fuser%3Apassword%40host`. */
const ENCODED_ADDRESS =
  /([a-z][a-z0-9+.-]{1,20}(?::|%(?:25){0,3}3a)(?:\/|%(?:25){0,3}2f){2}(?:(?!%(?:25){0,3}(?:2f|3a|40))[^\s/:@'"<>&])*(?::|%(?:25){0,3}3a))((?:(?!%(?:25){0,3}(?:2f|40))[^\s/@'"<>&])+)(%(?:25){0,3}40)/gi;

const GAPS = /[ +-]|%20/g;
const CARD = /(?<![\w.-]|%[\dA-F])[2-6]\d{3}(?:(?:[ +-]|%20)?\d){9,15}(?![\w-])/g;
const NETWORKS =
  /^(?:4(?:\d{12}|\d{15}|\d{18})|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|3(?:0[0-59]|[689]\d)\d{11,13}|35\d{14}|6(?:011|4[4-9]|5\d|2\d)\d{12,15})$/;

function isCard(digits: string): boolean {
  if (!NETWORKS.test(digits)) return false;
  let sum = 0;
  for (let at = 0; at < digits.length; at++) {
    const digit = Number(digits.charAt(digits.length - 1 - at));
    sum += at % 2 === 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2;
  }
  return sum % 10 === 0;
}

const SMALLEST_CARD = 1e13;

export function isCardNumber(value: unknown): boolean {
  return typeof value === 'number' && value >= SMALLEST_CARD && isCard(String(value));
}

const IBAN_LENGTHS = new Map(
  (
    'AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 FR27 ' +
    'GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 ' +
    'MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 ' +
    'TN24 TR26 UA29 VA22 VG24 XK20 YE30'
  )
    .split(' ')
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))] as const),
);
const IBAN = /(?<![A-Za-z0-9])([A-Z]{2})\d{2}(?:(?:[ +]|%20)?[A-Z0-9]){11,29}/g;

function isIban(text: string): boolean {
  let rest = 0;
  for (const character of text.slice(4) + text.slice(0, 4)) {
    const value = parseInt(character, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest === 1;
}

function takeIban(run: string, length: number): string | null {
  let count = 0;
  let at = 0;
  while (at < run.length && count < length) {
    const character = run.charAt(at);
    at += character === '%' ? 3 : 1;
    if (/[A-Z0-9]/.test(character)) count++;
  }
  return count < length || /[A-Za-z0-9]/.test(run.charAt(at)) ? null : run.slice(0, at);
}

function maskIban(run: string, country: string, mark: Mark): string {
  const iban = takeIban(run, IBAN_LENGTHS.get(country) ?? Infinity);
  const plain = iban?.replace(GAPS, '') ?? '';
  return iban !== null && isIban(plain) ? mark(plain) + run.slice(iban.length) : run;
}

/** What is left of a private key whose beginning was cut off: the lines above its end. */
function maskKeyEnds(text: string, mark: Mark): string {
  return rewrite(text, KEY_END, ({ 0: whole, index }, replace) => {
    let start = index;
    for (let end = text.lastIndexOf('\n', index); end > 0;) {
      const from = text.lastIndexOf('\n', end - 1) + 1;
      if (!KEY_LINE.test(text.slice(from, end))) break;
      start = from;
      end = from - 1;
    }
    replace(start, index + whole.length, mark(text.slice(start, index + whole.length)));
  });
}

/** `hide` also masks the value elsewhere: a part of an address is a parameter of its route as well. */
export function maskShapes(text: string, mark: Mark, hide: (value: string) => string): string {
  const markRandom = (whole: string, head: string, value: string): string =>
    looksRandom(value) ? head + hide(value) : whole;
  let result = text;
  if (result.includes('://'))
    result = result
      .replace(ADDRESS, (_, head: string, password: string) => `${head}${mark(password)}`)
      .replace(USER, markRandom);
  if (/%(?:25){0,3}40/.test(result))
    result = result.replace(
      ENCODED_ADDRESS,
      (_, head: string, password: string, at: string) => `${head}${mark(password)}${at}`,
    );
  result = result
    .replace(CARD, (run) => (isCard(run.replace(GAPS, '')) ? mark(run.replace(GAPS, '')) : run))
    .replace(IBAN, (run, country: string) => maskIban(run, country, mark))
    .replace(TOKEN, (token) => mark(token));
  if (result.includes('eyJ')) result = result.replace(/[\w.-]{20,}/g, (run) => maskWebTokens(run, mark));
  result = result.replace(BARE_KEY, (key) => mark(key));
  if (result.includes('BEGIN ')) result = result.replace(PRIVATE_KEY, (key) => mark(key));
  if (result.includes('END ')) result = maskKeyEnds(result, mark);
  if (result.includes('Private-Lines: '))
    result = result.replace(PRIVATE_LINES, (lines, head: string) => head + mark(lines.slice(head.length)));
  result = result.replace(LINK, markRandom);
  if (result.includes('Digest '))
    result = result.replace(DIGEST, (_, scheme: string, fields: string) => scheme + mark(fields));
  return result.replace(SCHEME, (_, scheme: string, token: string) => scheme + mark(token));
}
