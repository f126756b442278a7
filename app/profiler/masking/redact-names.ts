/** Which names say that their value is a secret. The filters of Django and Rails match parts of names; so does this, with a list of the innocent. */
import { dropOldest } from '../drop-oldest.ts';

const SECRET_WORDS = [
  'secret', 'secrets', 'token', 'tokens', 'apikey', 'cookie', 'cookies', 'credential', 'credentials', 'signature', 'sig', 'otp', 'totp',
  'ssn', 'cvv', 'cvv2', 'cvc', 'csc', 'csrf', 'xsrf', 'jwt', 'bearer', 'sid', 'sessid', 'pin', 'pwd', 'pw', 'iban', 'salt', 'mnemonic',
  'oauth', 'hmac', 'psk', 'cvn', 'kennwort', 'senha', 'contrasena', 'wachtwoord', 'losenord', 'salasana', 'heslo', 'haslo', 'parola', 'sifre',
  'mdp', 'pswd', 'psw', 'creds',
]; // prettier-ignore
/** Letters of a name in this order, whatever separates them. */
const SECRET_JOINED = [
  'password', 'passwd', 'passwort', 'secret', 'privatekey', 'cardnumber', 'ccnumber', 'accountnumber', 'creditcard', 'securitycode',
  'authtoken', 'accesstoken', 'refreshtoken', 'sessiontoken', 'sessionid', 'sessid', 'samlresponse', 'clientassertion',
  'codeverifier', 'devicecode', 'recoverycode', 'backupcode', 'verificationcode', 'confirmationcode', 'activationcode', 'onetimecode',
  'logincode', 'resetcode', 'smscode', 'mfacode', '2facode', 'twofactorcode', 'secwebsocketprotocol', 'securityanswer', 'seedphrase', 'recoveryphrase', 'motdepasse',
]; // prettier-ignore
const SECRET_WHOLE = ['dpop'];
/** Words that begin with `auth` or `pass`, but for `author`, `passed`, `passing`, `passage` and those like them. */
const SECRET_BEGINNING = /^(?:auth(?:$|[^o]|ori[sz])|pass(?:$|[^aei]))/;
/** Words that end with `key`, `keys` or a numbered one; others (`keyboard`) only look alike. */
const SECRET_END = /keys?\d*$/;
/** `keystorepass`, `userpw`. */
const SECRET_ENDING = /\w{2}(?:pass|pwd|pw)\d*$/;
const IS_KEY = /^keys?\d*$/;

const INNOCENT = new Set([
  'authentic', 'authenticated', 'authorized', 'authorised', 'passport', 'passthrough', 'monkey', 'monkeys', 'donkey', 'turkey', 'hockey',
  'jockey', 'whiskey', 'hotkey', 'hotkeys', 'publickey', 'pubkey', 'primarykey', 'foreignkey', 'bypass', 'compass', 'trespass', 'surpass',
  'encompass', 'overpass', 'underpass', 'lowpass', 'highpass', 'bandpass',
]); // prettier-ignore
const INNOCENT_BEFORE_KEY = new Set([
  'primary', 'foreign', 'public', 'sort', 'cache', 'partition', 'row', 'group', 'object', 'routing', 'idempotency', 'translation', 'message',
  'composite', 'unique', 'index', 'range', 'map', 'dedup', 'lookup', 'query', 'natural', 'surrogate', 'react', 'job', 'redis', 'i18n',
  'order', 'filter', 'column', 'tab', 'label', 'issue', 'project', 'facet', 'field', 'menu', 'node', 'item', 'list', 'view', 'page', 'setting',
  'config', 'feature', 'flag', 'event', 'metric', 'locale', 'slot', 'section', 'category', 'entity', 'record', 'document', 'template', 'theme',
  'websocket', 'duplicate', 'parent', 'meta', 'arrow', 'shift', 'ctrl', 'alt', 'storage', 'no', 'any', 'each', 'by', 'on', 'for',
]); // prettier-ignore
const INNOCENT_AFTER_KEY = new Set([
  'id', 'ids', 'name', 'names', 'type', 'types', 'size', 'length', 'path', 'count', 'code', 'press', 'usage', 'prefix', 'pattern', 'value',
  'values', 'index', 'algorithm', 'version', 'result', 'results', 'board', 'frame', 'word', 'words', 'column', 'columns', 'field', 'fields',
  'constraint', 'violation', 'ops', 'vault',
]); // prettier-ignore
const INNOCENT_BEFORE_TOKENS = new Set([
  'prompt',
  'completion',
  'input',
  'output',
  'total',
  'max',
  'min',
  'num',
  'cached',
  'reasoning',
]);
/** Names of secrets as often as of harmless things: only a value that looks random is masked below a name that ends with one. */
const AMBIGUOUS = new Set([
  'key', 'keys', 'code', 'session', 'ticket', 'private', 'license', 'licence', 'assertion', 'seed', 'webhook', 'invite', 'pat',
  'reset', 'magic', 'activation', 'verification', 'confirmation', 'challenge', 'mfa',
]); // prettier-ignore
/** Names that contain a secret word but have no secret value: our own headers, and descriptions. */
const PUBLIC_NAMES = new Set([
  'xdebugtoken', 'xdebugtokenlink', 'xpreviousdebugtoken', 'debugtoken', 'tokencount', 'maxtokens', 'tokentype', 'cookieparser',
  'authtype', 'authmethod', 'authprovider', 'secretary',
]); // prettier-ignore

/** What a logged error begins with, `TokenExpiredError: jwt expired`: its message stands behind it. */
const ERROR_CLASS = /^[A-Z]\w*[a-z](?:Error|Exception)$/;
const HOLDS_JOINED = new RegExp(SECRET_JOINED.join('|'));
/** Of a long name both ends are checked, so that padding can't hide a word. */
const NAME_END = 200;
const LONGEST_REMEMBERED = 100;
const MOST_REMEMBERED = 2500;

/** Accents and characters without a width: `contraseña`. */
const UNSEEN = /[\u0300-\u036f\u00ad\u200b-\u200d\u2060\ufeff]/g;

function wordsOf(name: string): string[] {
  return (name.length > 2 * NAME_END ? `${name.slice(0, NAME_END)} ${name.slice(-NAME_END)}` : name)
    .normalize('NFKD')
    .replace(UNSEEN, '')
    .replaceAll('ł', 'l')
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
}

const LOOKED_AT = 200;
const RANDOM_RUN = /(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{12}/;

/** Whether a value looks like something that a machine made: no blank, and 12 letters and digits in a row. */
export function looksRandom(value: string): boolean {
  return (
    /^[\w+/=~.:-]+(?:…(?: \(\d+ more characters\))?)?$/.test(value) &&
    RANDOM_RUN.test(value.slice(0, LOOKED_AT))
  );
}

type Kind = 'secret' | 'ambiguous' | 'innocent';

/** `extra`: words that make a name secret, in addition to the built-in ones. */
export function createNameRule(extra: readonly string[]) {
  const secretWords = new Set([...SECRET_WORDS, ...extra.map((word) => word.toLowerCase())]);
  const known = new Map<string, Kind>();

  function isSecretKey(parts: readonly string[], at: number): boolean {
    const word = parts[at] ?? '';
    if (!SECRET_END.test(word) || INNOCENT.has(word)) return false;
    if (!IS_KEY.test(word)) return true;
    return (
      parts.length > 1 &&
      !INNOCENT_BEFORE_KEY.has(parts[at - 1] ?? '') &&
      !INNOCENT_AFTER_KEY.has(parts[at + 1] ?? '')
    );
  }

  function judge(name: string): Kind {
    const parts = wordsOf(name);
    const joined = parts.join('');
    if (PUBLIC_NAMES.has(joined) || ERROR_CLASS.test(name)) return 'innocent';
    const isSecret = parts.some(
      (word, at) =>
        ((secretWords.has(word) || secretWords.has(word.replace(/\d+$/, ''))) &&
          !(word === 'tokens' && INNOCENT_BEFORE_TOKENS.has(parts[at - 1] ?? ''))) ||
        ((SECRET_BEGINNING.test(word) || SECRET_ENDING.test(word)) && !INNOCENT.has(word)) ||
        isSecretKey(parts, at),
    );
    if (isSecret || HOLDS_JOINED.test(joined) || SECRET_WHOLE.includes(joined)) return 'secret';
    const last = parts.at(-1) ?? '';
    const identifies = parts.length > 1 && IS_KEY.test(last);
    return AMBIGUOUS.has(last) && !identifies ? 'ambiguous' : 'innocent';
  }

  function kindOf(name: string): Kind {
    const before = known.get(name);
    if (before !== undefined) return before;
    const kind = judge(name);
    if (name.length <= LONGEST_REMEMBERED) known.set(name, kind);
    dropOldest(known, MOST_REMEMBERED);
    return kind;
  }

  return {
    isSecretName: (name: string): boolean => kindOf(name) === 'secret',
    /** The same, and for an ambiguous name whether the value looks random. The first 200 characters of the value are enough. */
    isSecret(name: string, value: unknown): boolean {
      const kind = kindOf(name);
      if (kind === 'innocent') return false;
      const text = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
      // A language model counts its tokens.
      return kind === 'secret' ? !(/tokens$/i.test(name) && /^\d{1,9}$/.test(text)) : looksRandom(text);
    },
  };
}

export type NameRule = ReturnType<typeof createNameRule>;
