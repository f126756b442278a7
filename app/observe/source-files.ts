/**
 * Source text for excerpts, and nothing else: the only place where a file named by a stack is opened.
 *
 * What a stack names can be forged by input, so a file is read only when it is a regular file of at most 2 MB, with the
 * ending of source code, no hidden segment, really (links followed) below one of the roots. Lines are cached by time of
 * change; the cache is bounded. Nothing here throws.
 */
import { readFileSync, realpathSync, statSync } from 'node:fs';
import { extname, isAbsolute, relative, resolve, sep } from 'node:path';

export interface SourceFiles {
  /** Text of a source file; null where it may not or can't be read. */
  text(file: string): string | null;
  lines(file: string): readonly string[] | null;
  /** Text of the source map that a readable file names beside itself. */
  mapText(file: string): string | null;
}

interface Entry {
  stamp: string;
  text: string;
  lines: readonly string[] | null;
}

const LARGEST_FILE = 2 * 1024 * 1024;
const LARGEST_MAP = 8 * 1024 * 1024;
const CACHED_FILES = 100;
const CODE = new Set(
  ['.js', '.mjs', '.cjs', '.jsx', '.ts', '.mts', '.cts', '.tsx', '.ejs', '.vue', '.svelte', '.coffee'], // prettier-ignore
);
const MAP = new Set(['.map']);

function realRoots(roots: readonly string[]): string[] {
  return roots.flatMap((root) => {
    try {
      return [realpathSync(root)];
    } catch {
      return [];
    }
  });
}

/** True for a path below `root` none of whose segments is hidden. */
function liesBelow(file: string, root: string): boolean {
  const path = relative(root, file);
  return path !== '' && !isAbsolute(path) && path.split(sep).every((part) => !part.startsWith('.'));
}

export function createSourceFiles({ roots }: { roots: readonly string[] }): SourceFiles {
  const allowed = realRoots(roots);
  const cache = new Map<string, Entry>();

  function read(file: string, endings: ReadonlySet<string>, largest: number): Entry | null {
    try {
      if (!isAbsolute(file) || file.includes('\0') || !endings.has(extname(file).toLowerCase())) return null;
      const real = realpathSync(resolve(file));
      const stat = statSync(real);
      if (!stat.isFile() || stat.size > largest || !endings.has(extname(real).toLowerCase())) return null;
      if (!allowed.some((root) => liesBelow(real, root))) return null;
      const stamp = `${stat.mtimeMs}/${stat.size}/${stat.ino}`;
      const known = cache.get(real);
      if (known?.stamp === stamp) return known;
      const entry: Entry = { stamp, text: readFileSync(real, 'utf8'), lines: null };
      cache.delete(real);
      cache.set(real, entry);
      const oldest = cache.keys().next();
      if (cache.size > CACHED_FILES && oldest.done !== true) cache.delete(oldest.value);
      return entry;
    } catch {
      return null;
    }
  }

  return {
    text: (file) => read(file, CODE, LARGEST_FILE)?.text ?? null,
    lines(file) {
      const entry = read(file, CODE, LARGEST_FILE);
      if (entry === null) return null;
      entry.lines ??= entry.text.split(/\r?\n/);
      return entry.lines;
    },
    mapText: (file) => read(file, MAP, LARGEST_MAP)?.text ?? null,
  };
}
