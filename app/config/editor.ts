/** Readers of PROFILER_EDITOR and PROFILER_EDITOR_PATHS, and what is taken without them: how the pages open a file in the developer's editor. */
import { existsSync } from 'node:fs';
import { join, basename } from 'node:path';

const KNOWN = {
  vscode: 'vscode://file/%f:%l:%c',
  cursor: 'cursor://file/%f:%l:%c',
  webstorm: 'webstorm://open?file=%f&line=%l&column=%c',
  zed: 'zed://file/%f:%l:%c',
} as const;
const PATTERN = /^([a-z][a-z0-9+.-]*):(?:[!#$&'()*+,./:;=?@[\]_~\w-]|%[flc]|%[0-9ab][0-9a-f])+$/i;
/** Schemes that a browser would run or show instead of opening an editor. */
const REFUSED = new Set([
  'javascript',
  'data',
  'vbscript',
  'blob',
  'filesystem',
  'about',
  'file',
  'view-source',
]);
const LONGEST = 500;
/** `/app`, `C:/shop`, `C:\shop`. */
const ABSOLUTE = /^(?:\/|[a-z]:[\\/])/i;

const NONE = 'none';

/** A name, or an address with `%f` file, `%l` line, `%c` column -> the address; `none`: no links. */
export function editorUrl(given: unknown): string | null {
  const text = String(given);
  if (text === NONE) return NONE;
  if (Object.hasOwn(KNOWN, text)) return KNOWN[text as EditorName];
  const scheme = PATTERN.exec(text)?.[1]?.toLowerCase();
  if (scheme !== undefined && REFUSED.has(scheme))
    throw new Error(`is an address of the scheme "${scheme}:", which opens no editor; set another.`);
  if (scheme === undefined || !text.includes('%f') || text.length > LONGEST)
    throw new Error(
      `is "${text.slice(0, 100)}"; set ${Object.keys(KNOWN).join(', ')}, none, or an address with %f for the file, such as myeditor://open?file=%f&line=%l.`,
    );
  return text;
}

type Environment = Readonly<Record<string, string | undefined>>;
type EditorName = keyof typeof KNOWN;

/** Programs of VISUAL and EDITOR that open an address. Others, such as vim, have none. */
const PROGRAMS: Readonly<Record<string, EditorName>> = {
  code: 'vscode',
  cursor: 'cursor',
  webstorm: 'webstorm',
  zed: 'zed',
  zeditor: 'zed',
};
/** Variables that a terminal inside a running editor has. */
const TERMINALS: readonly (readonly [variable: string, value: RegExp, editor: EditorName])[] = [
  ['CURSOR_TRACE_ID', /./, 'cursor'],
  ['TERM_PROGRAM', /^vscode$/, 'vscode'],
  ['TERM_PROGRAM', /^zed$/, 'zed'],
  ['ZED_TERM', /^true$/, 'zed'],
  ['TERMINAL_EMULATOR', /^JetBrains/, 'webstorm'],
];
const FOLDERS: readonly (readonly [folder: string, editor: EditorName])[] = [
  ['.cursor', 'cursor'],
  ['.vscode', 'vscode'],
  ['.idea', 'webstorm'],
  ['.zed', 'zed'],
];

export interface FoundEditor {
  url: string;
  /** What it was found by: the setting, a variable, a folder. */
  by: string;
}

/** The editor that somebody works with in `root`, as far as a variable or a folder of the project tells; null if none does. */
function findEditor(root: string, env: Environment): FoundEditor | null {
  for (const variable of ['VISUAL', 'EDITOR']) {
    const program = basename((env[variable] ?? '').trim().split(/\s/)[0] ?? '').replace(
      /\.(?:cmd|exe)$/i,
      '',
    );
    const name = Object.hasOwn(PROGRAMS, program) ? PROGRAMS[program] : undefined;
    if (name !== undefined) return { url: KNOWN[name], by: variable };
  }
  for (const [variable, value, name] of TERMINALS)
    if (value.test(env[variable] ?? '')) return { url: KNOWN[name], by: variable };
  const folder = FOLDERS.find(([name]) => existsSync(join(root, name)));
  return folder === undefined ? null : { url: KNOWN[folder[1]], by: folder[0] };
}

/** `given`: the value of the setting; null: not set, and in production nothing is looked for. */
export function chooseEditor(
  given: string | null,
  { root, env, isProduction }: { root: string; env: Environment; isProduction: boolean },
): FoundEditor | null {
  if (given === NONE) return null;
  if (given !== null) return { url: given, by: 'PROFILER_EDITOR' };
  return isProduction ? null : findEditor(root, env);
}

function pairOf(text: string): [string, string] {
  const at = text.indexOf('=');
  return at === -1 ? [text, ''] : [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}

/** `/app=/home/me/shop, /lib=/home/me/lib`, or an object: folder here -> the same on the developer's machine. */
export function editorPaths(given: unknown): Readonly<Record<string, string>> {
  const pairs =
    typeof given === 'string'
      ? given
          .split(',')
          .map((part) => part.trim())
          .filter((part) => part !== '')
          .map(pairOf)
      : Object.entries(given as Record<string, string>);
  const isPath = (path: string): boolean => ABSOLUTE.test(path) && !path.split(/[\\/]/).includes('..');
  for (const [from, to] of pairs)
    if (!isPath(from) || !isPath(to))
      throw new Error(
        `holds "${from}${to === '' ? '' : `=${to}`}"; list pairs of absolute folders, such as /app=/home/me/shop.`,
      );
  return Object.fromEntries(pairs);
}
