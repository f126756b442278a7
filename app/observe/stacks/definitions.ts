/**
 * Where the names that a line uses are defined: in its own file, or in one that this imports. What they did is on no stack: a function
 * that returned before, the set-up of a client. Names are found in the text, no code is parsed.
 */
import { posix, resolve } from 'node:path';
import { escapeRegExp } from '../../profiler/escape-regexp.ts';
import type { SourceFiles } from './source-files.ts';
import type { SourceMaps } from './source-maps.ts';

export interface Definition {
  name: string;
  place: string;
}

interface Imported {
  from: string;
  /** null: all that the file exports. */
  name: string | null;
}

const MOST = 2;
/** Lines around a place that names are taken from, and lines above it that may have made a value of it. */
const BEFORE = 3;
const AFTER = 2;
const MADE_WITHIN = 30;
const USED = /(?<![\w$.'"/])([A-Za-z_$][\w$]*)(?:\.([A-Za-z_$][\w$]*))?(?=\s*[(`.])/g;
/** Names that any route is registered with. */
const REGISTERS = /^(?:app|router|routes)$/;
const IMPORT =
  /\b(?:import\s+(?!type\b)|(?:const|let|var)\s+)([\w$]+)?[\s,]*(?:\*\s*as\s+([\w$]+)|\{([^}]*)\})?\s*(?:from|=\s*(?:await\s+)?(?:require|import)\()\s*['"](\.[^'"]+)['"]/g;
const SOURCES = ['', '.ts', '.js', '.mjs', '.cjs', '/index.ts', '/index.js'];

function importsIn(lines: readonly string[]): Map<string, Imported> {
  const imports = new Map<string, Imported>();
  for (const [, one, all, names = '', from = ''] of lines.join('\n').matchAll(IMPORT)) {
    for (const name of [one, all]) if (name !== undefined) imports.set(name, { from, name: null });
    for (const part of names.split(',')) {
      const [name = '', as = name] = part.trim().split(/\s*:\s*|\s+as\s+/);
      imports.set(as, { from, name });
    }
  }
  return imports;
}

const VARIABLE = /^\s+(?:const|let|var)\s+(\{[^}]*\}|\[[^\]]*\]|[\w$]+)\s*=/;

/** The lines above that made the values of a line, the nearest first. */
function madeFor(lines: readonly string[], at: number): string[] {
  const words = (text = ''): readonly string[] => text.match(/[A-Za-z_$][\w$]*/g) ?? [];
  const used = new Set(words(lines[at]));
  return lines
    .slice(Math.max(0, at - MADE_WITHIN), at)
    .filter((line) => words(VARIABLE.exec(line)?.[1]).some((name) => used.has(name)))
    .reverse();
}

/** Index of the line at the left margin that defines it; -1: none, or it is of a package. */
function definedIn(lines: readonly string[], name: string): number {
  const escaped = escapeRegExp(name);
  const definition = new RegExp(
    `^(?:export\\s+)?(?:default\\s+)?(?:async\\s+)?(?:function\\*?|class|const|let|var)\\s+${escaped}(?![\\w$])|^(?:module\\.)?exports\\.${escaped}\\s*=`,
  );
  return lines.findIndex((line) => definition.test(line) && !/\brequire\(['"][^.]/.test(line));
}

export function createDefinitions({
  root,
  files,
  maps,
}: {
  root: string;
  files: Pick<SourceFiles, 'lines'>;
  maps: Pick<SourceMaps, 'sourceLines'>;
}): (place: string) => Definition[] {
  const linesOf = (file: string): readonly string[] | null =>
    maps.sourceLines(resolve(root, file)) ?? files.lines(resolve(root, file));

  function imported({ from, name }: Imported, file: string, member: string | undefined): string | null {
    const path = posix.join(posix.dirname(file), from);
    const typed = path.replace(/\.([cm]?)jsx?$/, '.$1ts');
    for (const found of [...SOURCES.map((end) => path + end), typed]) {
      const lines = linesOf(found);
      if (lines === null) continue;
      const names = name === null ? [member ?? '', 'default'] : [name];
      const at = names.map((one) => definedIn(lines, one)).find((index) => index !== -1);
      const whole = lines.findIndex((line) => /^(?:module\.exports\s*=|export\s+default\b)/.test(line));
      const index = at ?? (name === null ? whole : -1);
      return index === -1 ? null : `${found}:${index + 1}`;
    }
    return null;
  }

  return (place) => {
    const [, file = '', number = ''] = /^(.+):(\d+)$/.exec(place) ?? [];
    const lines = file === '' ? null : linesOf(file);
    if (lines === null) return [];
    const at = Number(number) - 1;
    const near = (index: number): boolean => index >= at - BEFORE && index <= at + AFTER;
    const imports = importsIn(lines);
    const around = lines.slice(Math.max(0, at - BEFORE), at + AFTER + 1);
    const shown = [lines[at] ?? '', ...madeFor(lines, at), ...around];
    const found = new Map<string, string>();
    for (const [, name = '', member] of shown.join('\n').matchAll(USED)) {
      if (REGISTERS.test(name)) continue;
      const from = imports.get(name);
      const own = from === undefined ? definedIn(lines, name) : -1;
      const where =
        from !== undefined
          ? imported(from, file, member)
          : own === -1 || near(own)
            ? null
            : `${file}:${own + 1}`;
      if (where !== null && found.size < MOST)
        found.set(member !== undefined && from?.name === null ? `${name}.${member}` : name, where);
    }
    return Array.from(found, ([name, definition]) => ({ name, place: definition }));
  };
}
