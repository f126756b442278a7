/**
 * Passwords in the arguments of well-known programs, whose options do not name them: `mysql -pSECRET`, `curl -u bob:SECRET`, `sshpass -p SECRET`.
 */
import type { TextMasking } from './redact-rules.ts';

interface Options {
  next?: readonly string[];
  /** The password follows the option at once: `-pSECRET`. */
  joined?: readonly string[];
  pair?: readonly string[];
  /** With the letter `b` in an option it follows file and user, with `n` only the user. */
  isBatch?: true;
}

const MYSQL: Options = { joined: ['-p'] };
const ZIP: Options = { next: ['-P'], joined: ['-P'] };
const LDAP: Options = { next: ['-w'] };
const SEVEN_ZIP: Options = { joined: ['-p'] };
const RAR: Options = { joined: ['-p', '-hp'] };
const MONGO: Options = { next: ['-p'] };
const PUTTY: Options = { next: ['-pw'] };
const PROGRAMS: ReadonlyMap<string, Options> = new Map(
  Object.entries({
    mysql: MYSQL,
    mysqldump: MYSQL,
    mysqladmin: MYSQL,
    mysqlimport: MYSQL,
    mariadb: MYSQL,
    'mariadb-dump': MYSQL,
    'mariadb-admin': MYSQL,
    '7z': SEVEN_ZIP,
    '7za': SEVEN_ZIP,
    '7zz': SEVEN_ZIP,
    zip: ZIP,
    unzip: ZIP,
    rar: RAR,
    unrar: RAR,
    mongosh: MONGO,
    mongodump: MONGO,
    mongorestore: MONGO,
    mongoexport: MONGO,
    mongoimport: MONGO,
    sqlcmd: { next: ['-P'] },
    plink: PUTTY,
    pscp: PUTTY,
    sshpass: { next: ['-p'], joined: ['-p'] },
    docker: { next: ['-p'] },
    podman: { next: ['-p'] },
    'redis-cli': { next: ['-a'] },
    curl: { pair: ['-u', '--user', '-U', '--proxy-user'] },
    ldapsearch: LDAP,
    ldapmodify: LDAP,
    ldapadd: LDAP,
    ldapdelete: LDAP,
    ldapwhoami: LDAP,
    'ssh-keygen': { next: ['-N', '-P'] },
    openssl: { next: ['-k', '-K'] },
    htpasswd: { isBatch: true },
  } satisfies Record<string, Options>),
);
/** `-p` means another thing elsewhere: `docker run -p 80:80`. */
const NEEDS_LOGIN = new Set(['docker', 'podman']);

/** `-u bob:SECRET`, `-ubob:SECRET`, `--user=bob:SECRET` */
function isPair(pair: readonly string[], before: string, arg: string): boolean {
  const isJoined = (option: string): boolean =>
    arg.startsWith(option.startsWith('--') ? `${option}=` : option);
  return arg.includes(':') && (pair.includes(before) || pair.some(isJoined));
}

export interface CommandSecret {
  index: number;
  from: number;
}

export function commandSecrets(program: string, args: readonly string[]): CommandSecret[] {
  const name = program.toLowerCase().replace(/^.*[\\/]/, '').replace(/\.exe$/, ''); // prettier-ignore
  const options: Options | undefined = PROGRAMS.get(name);
  if (options === undefined || (NEEDS_LOGIN.has(name) && !args.includes('login'))) return [];
  const { next = [], joined = [], pair = [], isBatch = false } = options;
  const found: CommandSecret[] = [];
  for (const [index, arg] of args.entries()) {
    const before = args[index - 1] ?? '';
    const start = joined.find((option) => arg.startsWith(option) && arg.length > option.length);
    if (next.includes(before)) found.push({ index, from: 0 });
    else if (isPair(pair, before, arg)) found.push({ index, from: arg.indexOf(':') + 1 });
    else if (start !== undefined) found.push({ index, from: start.length });
  }
  const hasLetter = (letter: string): boolean => args.some((arg) => new RegExp(`^-\\w*${letter}`).test(arg));
  if (isBatch && hasLetter('b')) {
    const plain = args.flatMap((arg, index) => (arg.startsWith('-') ? [] : [index]));
    const index = plain[hasLetter('n') ? 1 : 2];
    if (index !== undefined) found.push({ index, from: 0 });
  }
  return found;
}

const PROGRAM = new RegExp(
  String.raw`(?<![\w.-])(${[...PROGRAMS.keys()].sort((a, b) => b.length - a.length).join('|')})(?:\.exe)?(?=\s)`,
  'g',
);
/** An argument of a shell, or what ends the command. */
const ARGUMENT = /[ \t]{1,20}(?:"([^"\n]{0,1000})"|'([^'\n]{0,1000})'|([^\s"'|;&<>]{1,1000}))|[\n|;&]/y;
const MOST_ARGUMENTS = 60;
/** Of all commands in a text: a name of a program may follow another, many times. */
const MOST_WORDS = 6000;
const FEW_ARGUMENTS = 6;
const CHPASSWD = /([\w.-]{1,60}:)([^\s"'|]{1,200})(?=["']?\s{0,5}\|\s{0,5}(?:sudo\s{1,5})?chpasswd\b)/g;
const NPM_AUTH = /(:_(?:authToken|password|auth)=)([^\s"'&]{1,500})/g;

export function maskCommands(text: string, { hide }: Pick<TextMasking, 'hide'>): string {
  let result = '';
  let done = 0;
  let words = 0;
  for (const match of text.matchAll(PROGRAM)) {
    if (match.index < done) continue;
    const places: number[] = [];
    const args: string[] = [];
    ARGUMENT.lastIndex = match.index + match[0].length;
    for (let found = ARGUMENT.exec(text); found !== null; found = ARGUMENT.exec(text)) {
      const [whole, double, single, bare] = found;
      const value = double ?? single ?? bare;
      if (value === undefined || args.length === (words < MOST_WORDS ? MOST_ARGUMENTS : FEW_ARGUMENTS)) break;
      words++;
      args.push(value);
      places.push(found.index + whole.length - value.length - (bare === undefined ? 1 : 0));
    }
    for (const { index, from } of commandSecrets(match[1] ?? '', args)) {
      const value = args[index] ?? '';
      const start = (places[index] ?? 0) + from;
      if (value.length === from || start < done) continue;
      result += text.slice(done, start) + hide('password', value.slice(from));
      done = start + value.length - from;
    }
  }
  result += text.slice(done);
  // Rarely there, and it looks at each character of a long word.
  if (result.includes('chpasswd'))
    result = result.replace(
      CHPASSWD,
      (_whole, user: string, value: string) => user + hide('password', value),
    );
  return result.replace(NPM_AUTH, (_whole, name: string, value: string) => name + hide('password', value));
}
