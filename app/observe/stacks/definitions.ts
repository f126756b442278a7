/**
 * Where the names that a function uses are defined: in its own file, or in one that this imports. What they did is on no stack: a function
 * that returned before, a table of prices. Names are found in the text, no code is parsed.
 */
import { posix, resolve } from 'node:path';
import { escapeRegExp } from '../../profiler/escape-regexp.ts';
import type { SourceFiles } from './source-files.ts';
import type { SourceMaps } from './source-maps.ts';

interface Imported {
  from: string;
  /** null: all that the file exports. */
  name: string | null;
}

const MOST = 12;
const NAMED = /(?<![\w$.'"/])([A-Za-z_$][\w$]*)(?:\.([A-Za-z_$][\w$]*))?(?:\.([A-Za-z_$][\w$]*))?/g;
/** Names that any route is registered with. */
const REGISTERS = /^(?:app|router|routes)$/;
const MADE_BY = /=\s*new\s+([A-Za-z_$][\w$]*)/;
const IMPORT =
  /\b(?:import\s+(?!type\b)|(?:const|let|var)\s+)([\w$]+)?[\s,]*(?:\*\s*as\s+([\w$]+)|\{([^}]*)\})?\s*(?:from|=\s*(?:await\s+)?(?:require|import)\()\s*['"]((?:\.|[@~#]\/)[^'"]+)['"]/g;
const RE_EXPORT = /\bexport\s+(?:\*|\{([^}]*)\})\s*from\s*['"](\.[^'"]+)['"]/g;
/** Modules that are followed from one to the next. */
const DEEPEST = 4;
/** `@/orders`: the usual alias of the folder of the sources. */
const ALIAS = /^[@~#]\//;
const SOURCES = ['', '.ts', '.js', '.mjs', '.cjs', '/index.ts', '/index.js'];

function importsIn(lines: readonly string[]): Map<string, Imported> {
  const imports = new Map<string, Imported>();
  for (const [, one, all, names = '', from = ''] of lines.join('\n').matchAll(IMPORT)) {
    for (const name of [one, all]) if (name !== undefined) imports.set(name, { from, name: null });
    for (const part of names.split(',').filter((one) => one.trim() !== '')) {
      const [name = '', as = name] = part.trim().split(/\s*:\s*|\s+as\s+/);
      imports.set(as, { from, name });
    }
  }
  return imports;
}

/** Index of the line at the left margin that defines it; -1: none, or it is of a package. */
function definedIn(lines: readonly string[], name: string): number {
  const escaped = escapeRegExp(name);
  const definition = new RegExp(
    `^(?:export\\s+)?(?:default\\s+)?(?:async\\s+|abstract\\s+|const\\s+(?=enum))?(?:function\\*?|class|enum|const|let|var)\\s+${escaped}(?![\\w$])|^(?:module\\.)?exports\\.${escaped}\\s*=`,
  );
  return lines.findIndex((line) => definition.test(line) && !/\brequire\(['"][^.]/.test(line));
}

const MADE_OF_PACKAGE = /=\s*(?:await\s+)?(?:new\s+([\w$]+)(?:\.[\w$]+)*|([\w$]+))\s*(?:<[^>]*>)?\(/;

/** The client of a database, an application: made by a package, so it says nothing of what was done with it. */
function isOfPackage(lines: readonly string[], index: number): boolean {
  const [, made, by = made] = MADE_OF_PACKAGE.exec(lines[index] ?? '') ?? [];
  if (by === undefined || importsIn(lines).has(by)) return false;
  const name = new RegExp(
    `\\b(?:import|require)\\b.*(?<![\\w$])${escapeRegExp(by)}(?![\\w$])|(?<![\\w$])${escapeRegExp(by)}(?![\\w$]).*\\brequire\\(`,
  );
  return lines.some((line) => name.test(line));
}

/** Index of the line that defines a method; -1: none. */
function methodIn(lines: readonly string[], name: string): number {
  const method = new RegExp(
    `^\\s+(?:(?:public|private|protected|static|override|async|get|set)\\s+)*\\*?${escapeRegExp(name)}\\s*(?:=(?!=)|:|[(<]).*(?:\\{|=>|\\($)`,
  );
  return lines.findIndex((line) => method.test(line));
}

/** The class that the classes of a file extend; empty: none. */
function baseIn(lines: readonly string[]): string {
  return lines.map((line) => /\bclass\b.*\bextends\s+([\w$]+)/.exec(line)?.[1]).find(Boolean) ?? '';
}

export function createDefinitions({
  root,
  files,
  maps,
}: {
  root: string;
  files: Pick<SourceFiles, 'lines'>;
  maps: Pick<SourceMaps, 'sourceLines'>;
}): (place: string, count: number) => string[] {
  const linesOf = (file: string): readonly string[] | null =>
    maps.sourceLines(resolve(root, file)) ?? files.lines(resolve(root, file));

  /** The method of an object or of a class, also through the line that makes its object; else the definition itself. */
  function withMethod(file: string, index: number, member: string | undefined): string {
    const lines = linesOf(file) ?? [];
    const definition = `${file}:${index + 1}`;
    if (member === undefined || /\bfunction\b/.test(lines[index] ?? '')) return definition;
    const at = methodIn(lines, member);
    if (at !== -1) return `${file}:${at + 1}`;
    const made = MADE_BY.exec(lines[index] ?? '')?.[1];
    const from = made === undefined ? undefined : importsIn(lines).get(made);
    return (from === undefined ? null : imported(from, file, member)) ?? definition;
  }

  function moduleOf(from: string, file: string): { file: string; lines: readonly string[] } | null {
    const path = from.startsWith('.') ? posix.join(posix.dirname(file), from) : from.replace(ALIAS, 'src/');
    const typed = path.replace(/\.([cm]?)jsx?$/, '.$1ts');
    for (const found of [...SOURCES.map((end) => path + end), typed]) {
      const lines = linesOf(found);
      if (lines !== null) return { file: found, lines };
    }
    return null;
  }

  /** Through files that only export what others define. */
  function imported(
    { from, name }: Imported,
    file: string,
    member: string | undefined,
    depth = 0,
  ): string | null {
    const found = depth < DEEPEST ? moduleOf(from, file) : null;
    if (found === null) return null;
    const { lines } = found;
    const names = name === null ? [member ?? [], 'default'].flat() : [name];
    const at = names.map((one) => definedIn(lines, one)).find((index) => index !== -1);
    const whole = lines.findIndex((line) => /^(?:module\.exports\s*=|export\s+default\b)/.test(line));
    const index = at ?? (name === null ? whole : -1);
    if (index !== -1) return isOfPackage(lines, index) ? null : withMethod(found.file, index, member);
    for (const [, list, further = ''] of lines.join('\n').matchAll(RE_EXPORT)) {
      const isNamed = list === undefined || list.split(/[\s,]+/).includes(name ?? member ?? '');
      const where = isNamed ? imported({ from: further, name }, found.file, member, depth + 1) : null;
      if (where !== null) return where;
    }
    return null;
  }

  /** The method of a field whose class the file names: `private rates: Rates`, `this.rates = new Rates()`. */
  function ofField(lines: readonly string[], file: string, field: string, method: string): string | null {
    const type = new RegExp(`(?<![\\w$])${escapeRegExp(field)}\\??\\s*[:=]\\s*(?:new\\s+)?([A-Z][\\w$]*)`);
    const name = lines.map((line) => type.exec(line)?.[1]).find((one) => one !== undefined) ?? '';
    const from = importsIn(lines).get(name);
    if (from !== undefined) return imported(from, file, method);
    const at = definedIn(lines, name) === -1 ? -1 : methodIn(lines, method);
    return at === -1 ? null : `${file}:${at + 1}`;
  }

  /** Of the names that so many lines from a place use. */
  return (place, count) => {
    const [, file = '', number = ''] = /^(.+):(\d+)$/.exec(place) ?? [];
    const lines = file === '' ? null : linesOf(file);
    if (lines === null) return [];
    const first = Number(number) - 1;
    const near = (index: number): boolean => index >= first && index < first + count;
    const imports = importsIn(lines);
    const found = new Set<string>();
    const shown = lines.slice(first, first + count).join('\n');
    for (const [, name = '', member, further] of shown.matchAll(NAMED)) {
      if (REGISTERS.test(name) || found.size === MOST) continue;
      if (name === 'this' && member !== undefined && further !== undefined) {
        const where = ofField(lines, file, member, further);
        if (where !== null) found.add(where);
        continue;
      }
      const isOfClass = name === 'this' || name === 'super';
      const own = isOfClass ? methodIn(lines, member ?? '') : imports.has(name) ? -1 : definedIn(lines, name);
      const from = isOfClass && own === -1 ? imports.get(baseIn(lines)) : imports.get(name);
      const where =
        from !== undefined
          ? imported(from, file, member)
          : own === -1 || near(own) || isOfPackage(lines, own)
            ? null
            : withMethod(file, own, isOfClass ? undefined : member);
      if (where !== null) found.add(where);
    }
    return [...found];
  };
}
