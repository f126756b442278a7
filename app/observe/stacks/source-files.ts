/**
 * Source text for excerpts: the only place that opens a file named by a stack. Stacks can be forged by input, so a file is read
 * only if it is a regular file of at most 2 MB with the ending of source code, without hidden segments but `.next`, and its real
 * path lies below one of the roots. The cache is bounded. Never throws.
 */
import { readFileSync, realpathSync, statSync } from 'node:fs';
import { extname, isAbsolute, relative, resolve, sep } from 'node:path';

interface Entry {
  stamp: string;
  text: string;
  lines: readonly string[] | null;
}

const LARGEST_FILE = 2 * 1024 * 1024;
const LARGEST_MAP = 8 * 1024 * 1024;
/** Of all files together. */
const CACHED_CHARACTERS = 32 * 1024 * 1024;
const CODE = new Set(
  ['.js', '.mjs', '.cjs', '.jsx', '.ts', '.mts', '.cts', '.tsx', '.ejs', '.vue', '.svelte', '.coffee'], // prettier-ignore
);
const MAP = new Set(['.map']);
/** Milliseconds for which a file is taken to be unchanged: frames of one stack are in few files, each asked for its map and its lines. */
const UNCHANGED_FOR = 20;

function realRoots(roots: readonly string[]): string[] {
  return roots.flatMap((root) => {
    try {
      return [realpathSync(root)];
    } catch {
      return [];
    }
  });
}

/** True for a path below `root` without hidden segments. Next.js builds into `.next`. */
function liesBelow(file: string, root: string): boolean {
  const path = relative(root, file);
  return (
    path !== '' &&
    !isAbsolute(path) &&
    path.split(sep).every((part) => part === '.next' || !part.startsWith('.'))
  );
}

export function createSourceFiles({ roots }: { roots: readonly string[] }) {
  const allowed = realRoots(roots);
  const cache = new Map<string, Entry>();
  let cached = 0;
  let looked = { at: -Infinity, entries: new Map<string, Entry | null>() };

  function remember(file: string, entry: Entry): void {
    forget(file);
    cache.set(file, entry);
    cached += entry.text.length;
    for (const oldest of cache.keys()) {
      if (cached <= CACHED_CHARACTERS || oldest === file) return;
      forget(oldest);
    }
  }

  function forget(file: string): void {
    cached -= cache.get(file)?.text.length ?? 0;
    cache.delete(file);
  }

  /** The file's real path and a stamp of its state; null if it may not be read. */
  function inspect(file: string, endings: ReadonlySet<string>, largest: number) {
    if (!isAbsolute(file) || file.includes('\0') || !endings.has(extname(file).toLowerCase())) return null;
    const real = realpathSync(resolve(file));
    if (!endings.has(extname(real).toLowerCase()) || !allowed.some((root) => liesBelow(real, root)))
      return null;
    const stat = statSync(real);
    if (!stat.isFile() || stat.size > largest) return null;
    return { real, changedAt: stat.mtimeMs, stamp: `${stat.mtimeMs}/${stat.size}/${stat.ino}` };
  }

  function read(file: string, endings: ReadonlySet<string>, largest: number): Entry | null {
    const now = performance.now();
    if (now - looked.at > UNCHANGED_FOR) looked = { at: now, entries: new Map() };
    const known = looked.entries.get(file);
    if (known !== undefined) return known;
    const entry = readNow(file, endings, largest);
    looked.entries.set(file, entry);
    return entry;
  }

  function readNow(file: string, endings: ReadonlySet<string>, largest: number): Entry | null {
    try {
      const found = inspect(file, endings, largest);
      if (found === null) return null;
      const known = cache.get(found.real);
      if (known?.stamp === found.stamp) return known;
      const entry: Entry = { stamp: found.stamp, text: readFileSync(found.real, 'utf8'), lines: null };
      remember(found.real, entry);
      return entry;
    } catch {
      return null;
    }
  }

  return {
    /** Text of a source file; null if it may not or can't be read. */
    text: (file: string) => read(file, CODE, LARGEST_FILE)?.text ?? null,
    lines(file: string): readonly string[] | null {
      const entry = read(file, CODE, LARGEST_FILE);
      if (entry === null) return null;
      entry.lines ??= entry.text.split(/\r?\n/);
      return entry.lines;
    },
    /** When it was last changed, milliseconds since 1970; null if it may not or can't be read. */
    changedAt(file: string): number | null {
      try {
        return inspect(file, CODE, LARGEST_FILE)?.changedAt ?? null;
      } catch {
        return null;
      }
    },
    /** Text of the source map that a readable file names. */
    mapText: (file: string) => read(file, MAP, LARGEST_MAP)?.text ?? null,
  };
}

export type SourceFiles = ReturnType<typeof createSourceFiles>;
