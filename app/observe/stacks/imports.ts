/** What a file imports of the application's other files, found in its text. */
import { posix } from 'node:path';

export interface Imported {
  from: string;
  /** null: all that the file exports. */
  name: string | null;
}

/** Bounds, so that a file with nothing but blanks or open brackets takes no longer than another one. */
const IMPORT =
  /\b(?:import\s{1,20}(?:type\s{1,20}(?!from\b))?|(?:const|let|var)\s{1,20})([\w$]{1,100})?[\s,]{0,20}(?:\*\s{0,20}as\s{1,20}([\w$]{1,100})|\{([^{}]{0,2000})\})?\s{0,20}(?:from|=\s{0,20}(?:await\s{1,20})?(?:require|import)\()\s{0,20}['"]((?:\.|[@~#]\/)[^'"\n]{1,300})['"]/g;
/** `@/orders`: the usual alias of the folder of the sources. */
const ALIAS = /^[@~#]\//;

export function importsIn(lines: readonly string[]): Map<string, Imported> {
  const imports = new Map<string, Imported>();
  for (const [, one, all, names = '', from = ''] of lines.join('\n').matchAll(IMPORT)) {
    for (const name of [one, all]) if (name !== undefined) imports.set(name, { from, name: null });
    for (const part of names.split(',').filter((one) => one.trim() !== '')) {
      const [name = '', as = name] = part
        .trim()
        .replace(/^type\s+/, '')
        .split(/\s*:\s*|\s+as\s+/);
      imports.set(as, { from, name });
    }
  }
  return imports;
}

/** The path that a file names, which may lack its ending. */
export function importedPath(from: string, file: string): string {
  return from.startsWith('.') ? posix.join(posix.dirname(file), from) : from.replace(ALIAS, 'src/');
}

/** What all paths that name a module have in common: without its ending and `/index`. */
export function moduleName(path: string): string {
  return path.replace(/\.[cm]?[jt]sx?$/, '').replace(/\/index$/, '');
}
