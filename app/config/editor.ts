/**
 * How the pages open a file in the developer's editor: a name or a pattern of an address, and where folders of this
 * machine (of a container, mostly) lie on the developer's. Checked at start; a wrong one is a sentence that says what to change.
 */

export interface EditorSettings {
  /** Address with `%f` file, `%l` line, `%c` column: `vscode://file/%f:%l:%c`. */
  url: string;
  /** Absolute path here -> the same on the developer's machine; the longest that fits counts. */
  paths: Readonly<Record<string, string>>;
}

/** Of editors that register an address of their own. */
const KNOWN: Readonly<Record<string, string>> = {
  vscode: 'vscode://file/%f:%l:%c',
  cursor: 'cursor://file/%f:%l:%c',
  webstorm: 'webstorm://open?file=%f&line=%l&column=%c',
  zed: 'zed://file/%f:%l:%c',
};
const PATTERN = /^([a-z][a-z0-9+.-]*):(?:[!#$&'()*+,./:;=?@[\]_~\w-]|%[flc]|%[0-9ab][0-9a-f])+$/i;
/** What a browser would run or show instead of handing it to an editor. */
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
/** `/app`, `C:/shop`, `C:\shop`; no segment that leads back up. */
const ABSOLUTE = /^(?:\/|[a-z]:[\\/])/i;

/** `none`, a name or a pattern -> the pattern; null: no links. Throws a sentence without the name of the setting. */
export function editorPattern(text: string): string | null {
  if (text === 'none') return null;
  const known = Object.hasOwn(KNOWN, text) ? KNOWN[text] : undefined;
  if (known !== undefined) return known;
  const scheme = PATTERN.exec(text)?.[1]?.toLowerCase();
  if (scheme !== undefined && REFUSED.has(scheme))
    throw new Error(`is an address of the scheme "${scheme}:", which opens no editor; set another.`);
  if (scheme === undefined || !text.includes('%f') || text.length > LONGEST)
    throw new Error(
      `is "${text.slice(0, 100)}"; set ${Object.keys(KNOWN).join(', ')}, none, or an address with %f for the file, such as myeditor://open?file=%f&line=%l.`,
    );
  return text;
}

/** `/app=/home/me/shop, /lib=/home/me/lib` -> pairs. Throws a sentence without the name of the setting. */
export function editorPaths(text: string): Record<string, string> {
  const pairs = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  return checkedPaths(
    Object.fromEntries(
      pairs.map((pair) => {
        const at = pair.indexOf('=');
        return at === -1 ? [pair, ''] : [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
      }),
    ),
  );
}

function checkedPaths(paths: Readonly<Record<string, string>>): Record<string, string> {
  for (const [from, to] of Object.entries(paths)) {
    const isPath = (path: string): boolean => ABSOLUTE.test(path) && !path.split(/[\\/]/).includes('..');
    if (!isPath(from) || !isPath(to))
      throw new Error(
        `holds "${from}${to === '' ? '' : `=${to}`}"; list pairs of absolute folders, such as /app=/home/me/shop.`,
      );
  }
  return { ...paths };
}

/** What a host hands to `createProfiler`: `url` may be a name. Throws an error that says what to change. */
export function checkEditor(editor: {
  url: string;
  paths?: Readonly<Record<string, string>>;
}): EditorSettings | null {
  const say = <Made>(name: string, make: () => Made): Made => {
    try {
      return make();
    } catch (error) {
      throw new TypeError(`createProfiler: ${name} ${(error as Error).message}`);
    }
  };
  const url = say('editor.url', () => editorPattern(editor.url));
  const paths = say('editor.paths', () => checkedPaths(editor.paths ?? {}));
  return url === null ? null : { url, paths };
}
