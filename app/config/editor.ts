/** Readers of PROFILER_EDITOR and PROFILER_EDITOR_PATHS: how the pages open a file in the developer's editor. */

/** Editors that register an address of their own. */
const KNOWN: Readonly<Record<string, string>> = {
  vscode: 'vscode://file/%f:%l:%c',
  cursor: 'cursor://file/%f:%l:%c',
  webstorm: 'webstorm://open?file=%f&line=%l&column=%c',
  zed: 'zed://file/%f:%l:%c',
};
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

/** A name, or an address with `%f` file, `%l` line, `%c` column -> the address; null: no links. */
export function editorUrl(given: unknown): string | null {
  const text = String(given);
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
