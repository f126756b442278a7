/**
 * Where the names that a function uses are defined: in its own file, or in one that this imports. What they did is on no stack: a function
 * that returned before, a table of prices. Names are found in the text, no code is parsed.
 */
import { posix, resolve } from 'node:path';
import { escapeRegExp } from '../../profiler/escape-regexp.ts';
import { createMethodIndex, methodsIn } from './method-index.ts';
import type { SourceFiles } from './source-files.ts';
import type { SourceMaps } from './source-maps.ts';

interface Imported {
  from: string;
  /** null: all that the file exports. */
  name: string | null;
}

const MOST = 12;
const NAMED = /(?<![\w$.'"/])([A-Za-z_$][\w$]*)(?:\.(#?[A-Za-z_$][\w$]*))?(?:\.([A-Za-z_$][\w$]*))?/g;
/** Names that any route is registered with. */
const REGISTERS = /^(?:app|router|routes)$/;
/** Of Express and of the language. */
const GIVEN = /^(?:req|res|next|request|response|process|console|Object|JSON|Math|Promise|Date|Array)$/;
const MADE_BY = /=\s*new\s+([A-Za-z_$][\w$]*)/;
const IMPORT =
  /\b(?:import\s+(?:type\s+(?!from\b))?|(?:const|let|var)\s+)([\w$]+)?[\s,]*(?:\*\s*as\s+([\w$]+)|\{([^}]*)\})?\s*(?:from|=\s*(?:await\s+)?(?:require|import)\()\s*['"]((?:\.|[@~#]\/)[^'"]+)['"]/g;
/** `...require('./money')`, `Money: require('./money')` in an object of exports. */
const IN_OBJECT = /(?:\.\.\.|([A-Za-z_$][\w$]*)\s*:\s*)require\(\s*['"](\.[^'"]+)['"]\s*\)/g;
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
      const [name = '', as = name] = part
        .trim()
        .replace(/^type\s+/, '')
        .split(/\s*:\s*|\s+as\s+/);
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

function isFromPackage(lines: readonly string[], name: string): boolean {
  const escaped = `(?<![\\w$])${escapeRegExp(name)}(?![\\w$])`;
  const loaded = new RegExp(`\\b(?:import|require)\\b.*${escaped}|${escaped}.*\\brequire\\(`);
  return lines.some((line) => loaded.test(line));
}

/** The client of a database, an application: made by a package, so it says nothing of what was done with it. */
function isOfPackage(lines: readonly string[], index: number): boolean {
  const [, made, by = made] = MADE_OF_PACKAGE.exec(lines[index] ?? '') ?? [];
  return by !== undefined && !importsIn(lines).has(by) && isFromPackage(lines, by);
}

/** Index of the line that defines a method; -1: none. */
function methodIn(lines: readonly string[], name: string): number {
  return methodsIn(lines).get(name) ?? -1;
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
  files: Pick<SourceFiles, 'lines' | 'changedAt'>;
  maps: Pick<SourceMaps, 'sourceLines'>;
}) {
  const methods = createMethodIndex({ root, files });
  const linesOf = (file: string): readonly string[] | null =>
    maps.sourceLines(resolve(root, file)) ?? files.lines(resolve(root, file));

  /** The method of an object or of a class, also through the line that makes its object; of a class alone its constructor, or its fields; else the definition. */
  function withMethod(file: string, index: number, member: string | undefined): string | null {
    const lines = linesOf(file) ?? [];
    const line = lines[index] ?? '';
    const isClass = /\bclass\s/.test(line);
    if (/\bclass\b.*\bextends\s+\w*Error\b/.test(line)) return null;
    const method = member ?? (isClass ? 'constructor' : undefined);
    if (method === undefined || /\bfunction\b/.test(line)) return `${file}:${index + 1}`;
    const at = methodIn(lines, method);
    if (at !== -1) return `${file}:${at + 1}`;
    // A class of fields alone says what a body may have.
    if (isClass) return methodsIn(lines).size === 0 ? `${file}:${index + 1}` : null;
    const made = MADE_BY.exec(line)?.[1];
    const from = made === undefined ? undefined : importsIn(lines).get(made);
    return (from === undefined ? null : imported(from, file, member)) ?? `${file}:${index + 1}`;
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
    const text = lines.join('\n');
    const wanted = name ?? member ?? '';
    const own = importsIn(lines).get(wanted);
    const further = [
      ...(own === undefined ? [] : [own]),
      ...Array.from(text.matchAll(RE_EXPORT), ([, list, path = '']) =>
        list === undefined || list.split(/[\s,]+/).includes(wanted) ? { from: path, name } : [],
      ).flat(),
      ...Array.from(text.matchAll(IN_OBJECT), ([, key, path = '']) =>
        key === undefined ? { from: path, name } : key === wanted ? { from: path, name: null } : [],
      ).flat(),
    ];
    for (const one of further) {
      const where = imported(one, found.file, member, depth + 1);
      if (where !== null) return where;
    }
    return null;
  }

  /** The method of a field whose class the file names: `private rates: Rates`, `this.rates = new Rates()`. */
  function ofField(lines: readonly string[], file: string, field: string, method: string): string | null {
    const type = new RegExp(`(?<![\\w$])${escapeRegExp(field)}\\??\\s*[:=]\\s*(?:new\\s+)?([A-Z][\\w$]*)`);
    const name = lines.map((line) => type.exec(line)?.[1]).find((one) => one !== undefined) ?? '';
    if (name === '') return null;
    const from = importsIn(lines).get(name);
    if (from !== undefined) return imported(from, file, method);
    const at = definedIn(lines, name) === -1 ? -1 : methodIn(lines, method);
    return at === -1 ? null : `${file}:${at + 1}`;
  }

  /** Places of the names that so many lines from a place use. `refresh` comes before. */
  function at(place: string, count: number): string[] {
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
        const where = ofField(lines, file, member, further) ?? methods.find(member, further);
        if (where !== null) found.add(where);
        continue;
      }
      const isOfClass = name === 'this' || name === 'super';
      const own = isOfClass ? methodIn(lines, member ?? '') : imports.has(name) ? -1 : definedIn(lines, name);
      const from = isOfClass && own === -1 ? imports.get(baseIn(lines)) : imports.get(name);
      const isParameter = from === undefined && own === -1 && !isOfClass && member !== undefined;
      const where = isParameter
        ? GIVEN.test(name) || isFromPackage(lines, name)
          ? null
          : methods.find(name, member)
        : from !== undefined
          ? imported(from, file, member)
          : own === -1 || near(own) || isOfPackage(lines, own)
            ? null
            : withMethod(file, own, isOfClass ? undefined : member);
      if (where !== null) found.add(where);
    }
    return [...found];
  }

  return { at, refresh: methods.refresh };
}
