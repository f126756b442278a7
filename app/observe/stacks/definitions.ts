/**
 * Where the names that a function uses are defined: in its own file, or in one that this imports. What they did is on no stack: a function
 * that returned before, a table of prices. Names are found in the text, no code is parsed.
 */
import { resolve } from 'node:path';
import { escapeRegExp } from '../../profiler/escape-regexp.ts';
import type { Steps } from '../../profiler/turns.ts';
import { argumentIn, parameterAt } from './arguments.ts';
import { type Imported, importedPath, importsIn, moduleName } from './imports.ts';
import { createMethodIndex, EVENT, methodsIn, writtenLines } from './method-index.ts';
import type { SourceFiles } from './source-files.ts';
import type { SourceMaps } from './source-maps.ts';

/** A name, or what is passed for it. */
interface Expression {
  file: string;
  index: number;
  text: string;
}

const MOST = 12;
const NAMED =
  /(?<![\w$'"/]|(?<!\.)\.)([A-Za-z_$][\w$]*)(?:\.(#?[A-Za-z_$][\w$]*))?(?:\.([A-Za-z_$][\w$]*))?/g;
/** Names that any route is registered with. */
const REGISTERS = /^(?:app|router|routes)$/;
/** Of Express and of the language. */
const GIVEN = /^(?:req|res|next|request|response|process|console|Object|JSON|Math|Promise|Date|Array)$/;
const MADE_BY = /=\s*new\s+([A-Za-z_$][\w$]*)/;
/** `...require('./money')`, `Money: require('./money')` in an object of exports. */
const IN_OBJECT = /(?:\.\.\.|([A-Za-z_$][\w$]*)\s*:\s*)require\(\s*['"](\.[^'"]+)['"]\s*\)/g;
const RE_EXPORT = /\bexport\s+(?:\*|\{([^{}]{0,2000})\})\s{0,20}from\s{0,20}['"](\.[^'"\n]{1,300})['"]/g;
/** Modules that are followed from one to the next. */
const DEEPEST = 4;
const MOST_CALLERS = 4;
/** Statements such as `Order.hasMany(Part)` or `schema.pre('save', …)`. */
const MOST_STATEMENTS = 3;
/** Of an event: several would say no more. */
const MOST_LISTENERS = 4;
const EMITS = new RegExp(String.raw`\.emit(?:Async)?${EVENT}`, 'g');
/** Of Node.js's own emitters. */
const OWN_EVENTS = /^(?:error|data|end|close|finish|drain|message|exit|connect|connection)$/;
/** Of an entry of a cache in the process. */
const READS = /[\w$.#]+\.(?:fetch|get|peek)(?:<[^<>()]*>)?\([^()]*\)/;
const FUNCTION =
  /^\s*(?:export\s+)?(?:default\s+)?(?:async\s+)?(?:function\*?\s+([\w$]+)|(?:const|let|var)\s+([\w$]+)\s*(?::[^=]*)?=\s*(?:async\s*)?(?:function\b|\(|[\w$]+\s*=>))/;
const EXPORTS_ALL = /^(?:module\.exports\s*=|export\s+default\b)/;
const EXPORTS_ONE = /^(?:module\.exports\s*=|export\s+default)\s*([\w$]+);?$/;
const SOURCES = ['', '.ts', '.js', '.mjs', '.cjs', '/index.ts', '/index.js'];

/** Index of the line at the left margin that defines it; -1: none, or it is of a package. */
function definedIn(lines: readonly string[], name: string): number {
  const escaped = escapeRegExp(name);
  const definition = new RegExp(
    `^(?:export\\s+)?(?:default\\s+)?(?:async\\s+|abstract\\s+|const\\s+(?=enum))?(?:function\\*?|class|enum|const|let|var)\\s+${escaped}(?![\\w$])|^(?:module\\.)?exports\\.${escaped}\\s*=`,
  );
  return lines.findIndex((line) => definition.test(line) && !/\brequire\(['"][^.]/.test(line));
}

function indentOf(line = ''): number {
  return line.trim() === '' ? Infinity : line.search(/\S/);
}

/** Index of the line that defines a function within another one, whose other code can use it: no line between has less indentation. */
function localIn(lines: readonly string[], name: string, index: number): number {
  const escaped = escapeRegExp(name);
  const definition = new RegExp(
    `^\\s+(?:async\\s+)?(?:function\\*?\\s+${escaped}\\b|(?:const|let|var)\\s+${escaped}\\s*(?::[^=]*)?=\\s*(?:async\\s*)?(?:function\\b|[\\w$]+\\s*=>|\\((?:.*=>|[^)]*$)))`,
  );
  return lines.findIndex(
    (line, at) =>
      definition.test(line) &&
      lines
        .slice(Math.min(at, index), Math.max(at, index) + 1)
        .every((between) => indentOf(between) >= indentOf(line)),
  );
}

/** Name of the function at a line or around it; null: it has none. */
function functionAround(lines: readonly string[], index: number): string | null {
  const methods = new Map(Array.from(methodsIn(lines), ([name, at]) => [at, name]));
  let indent = Infinity;
  for (let at = index; at >= 0; at--) {
    const line = lines[at] ?? '';
    if (indentOf(line) >= indent) continue;
    indent = indentOf(line);
    const name = methods.get(at) ?? FUNCTION.exec(line)?.slice(1).find(Boolean);
    if (name !== undefined) return name;
    if (at !== index && /=>|\bfunction\b/.test(line)) return null;
  }
  return null;
}

const MADE_OF_PACKAGE = /=\s*(?:await\s+)?(?:new\s+([\w$]+)(?:\.[\w$]+)*|([\w$]+))\s*(?:<[^>]*>)?\(/;

function isFromPackage(lines: readonly string[], name: string): boolean {
  const escaped = `(?<![\\w$])${escapeRegExp(name)}(?![\\w$])`;
  const loaded = new RegExp(`\\bimport\\b[^'"]*${escaped}|${escaped}.*\\brequire\\(`);
  return lines.some((line) => loaded.test(line));
}

/** The client of a database, an application: made by a package, so it says nothing of what was done with it, unless its options have lines. */
function isOfPackage(lines: readonly string[], index: number): boolean {
  const line = lines[index] ?? '';
  const [, made, by = made] = MADE_OF_PACKAGE.exec(line) ?? [];
  return !line.endsWith('{') && by !== undefined && !importsIn(lines).has(by) && isFromPackage(lines, by);
}

/** Index of the line that defines a method; -1: none. */
function methodIn(lines: readonly string[], name: string): number {
  return methodsIn(lines).get(name) ?? -1;
}

/** The class that the classes of a file extend; empty: none. */
function baseIn(lines: readonly string[]): string {
  return lines.map((line) => /\bclass\b.*\bextends\s+([\w$]+)/.exec(line)?.[1]).find(Boolean) ?? '';
}

/** Index of the line that has the name as a key of what a file exports; -1: none. */
function keyIn(lines: readonly string[], name: string): number {
  const first = lines.findIndex((line) => EXPORTS_ALL.test(line));
  const key = new RegExp(`(?:^\\s+|[{,]\\s*)${escapeRegExp(name)}\\s*[:(,}]`);
  return first === -1 ? -1 : lines.findIndex((line, index) => index >= first && key.test(line));
}

/** The right side of the first line that declares it; null: none. */
function valueIn(lines: readonly string[], name: string): string | null {
  const declared = new RegExp(`^\\s*(?:const|let|var)\\s+${escapeRegExp(name)}\\s*(?::[^=]*)?=\\s*(.*)`);
  return lines.map((line) => declared.exec(line)?.[1]).find((one) => one !== undefined) ?? null;
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
  function linesOf(file: string): readonly string[] | null {
    const path = resolve(root, file);
    const lines = maps.sourceLines(path) ?? files.lines(path);
    return lines === null ? null : writtenLines(lines);
  }

  /** The method of an object or of a class, also through the line that makes its object; of a class alone its constructor, or its fields; else the definition. */
  function withMethod(file: string, index: number, member: string | undefined): string | null {
    const lines = linesOf(file) ?? [];
    const line = lines[index] ?? '';
    const isClass = /\bclass\s/.test(line);
    if (/\bclass\b.*\bextends\s+\w*Error\b/.test(line)) return null;
    const method = member ?? (isClass ? 'constructor' : undefined);
    if (method === undefined) return `${file}:${index + 1}`;
    const at = methodIn(lines, method);
    if (at !== -1) return `${file}:${at + 1}`;
    // A class of fields alone says what a body may have.
    if (isClass) return methodsIn(lines).size === 0 ? `${file}:${index + 1}` : null;
    const made = MADE_BY.exec(line)?.[1];
    const from = made === undefined ? undefined : importsIn(lines).get(made);
    return (from === undefined ? null : imported(from, file, member)) ?? `${file}:${index + 1}`;
  }

  function moduleOf(from: string, file: string): { file: string; lines: readonly string[] } | null {
    const path = importedPath(from, file);
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
    const exported = lines.findIndex((line) => EXPORTS_ALL.test(line));
    const alone = EXPORTS_ONE.exec(lines[exported] ?? '')?.[1];
    const whole = alone === undefined ? exported : definedIn(lines, alone);
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
    const key = further.length === 0 ? keyIn(lines, wanted) : -1;
    return key === -1 ? null : `${found.file}:${key + 1}`;
  }

  /** The value of an expression that is a name or makes an object: `createIngest(store)`, `new Store()`. */
  function valueOf({ file, index, text }: Expression, member: string, depth: number): string | null {
    const name = /^(?:await\s+)?(?:new\s+)?([\w$]+)\s*(?=[(<;]|$)/.exec(text)?.[1];
    if (name === undefined || depth === DEEPEST) return null;
    const lines = linesOf(file) ?? [];
    const from = importsIn(lines).get(name);
    if (from !== undefined) return imported(from, file, member);
    const value = valueIn(lines, name);
    if (value !== null) return valueOf({ file, index, text: value }, member, depth + 1);
    const own = definedIn(lines, name);
    return own === -1
      ? ofParameter({ file, index, text: name }, member, depth + 1)
      : withMethod(file, own, member);
  }

  /** The method of what files pass for a parameter of the function around a line, which they import. */
  function ofParameter({ file, index, text: name }: Expression, member: string, depth = 0): string | null {
    const parameter = parameterAt(linesOf(file) ?? [], index, name);
    if (parameter === null) return null;
    const { of } = parameter;
    for (const caller of methods.importing(file).slice(0, MOST_CALLERS)) {
      const lines = linesOf(caller) ?? [];
      const names = Array.from(importsIn(lines), ([local, { from, name: own }]) =>
        moduleName(importedPath(from, caller)) === moduleName(file) && (own ?? of) === of
          ? escapeRegExp(local)
          : [],
      ).flat();
      const called = new RegExp(`(?<![\\w$.])(?:${names.join('|')})(?:\\.${escapeRegExp(of)})?\\(`);
      const passed = names.length === 0 ? null : argumentIn(lines, called, parameter);
      const where = passed === null ? null : valueOf({ file: caller, ...passed }, member, depth);
      // The line that makes a container says nothing of what is in it.
      const [, made = '', line] = /^(.*):(\d+)$/.exec(where ?? '') ?? [];
      if ((linesOf(made)?.[Number(line) - 1] ?? '').includes(member)) return where;
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

  /** Of a parameter: the only method of that name, of `cradle.orders.find` that of `orders`; else what is passed for it. */
  function ofUnknown(name: Expression, member: string, further: string | undefined): string | null {
    if (GIVEN.test(name.text) || isFromPackage(linesOf(name.file) ?? [], name.text)) return null;
    return (
      (further === undefined ? null : methods.find(member, further)) ??
      methods.find(name.text, member) ??
      ofParameter(name, member)
    );
  }

  /** Lines at the left margin that begin with the name: they change what it is. */
  function statementsOn(file: string, name: string): string[] {
    return (linesOf(file) ?? [])
      .flatMap((line, index) => (line.startsWith(`${name}.`) ? `${file}:${index + 1}` : []))
      .slice(0, MOST_STATEMENTS);
  }

  /** Places of the names that so many lines from a place use, of the last one to `until`. `refresh` comes before. */
  function* at(place: string, count: number, until = ''): Steps<string[]> {
    const [, file = '', number = ''] = /^(.+):(\d+)$/.exec(place) ?? [];
    const lines = file === '' ? null : linesOf(file);
    if (lines === null) return [];
    const first = Number(number) - 1;
    const near = (index: number): boolean => index >= first && index < first + count;
    const imports = importsIn(lines);
    const found = new Set<string>();
    const whole = lines.slice(first, first + count).join('\n');
    const end = until === '' ? -1 : whole.indexOf(until);
    const shown = end === -1 ? whole : whole.slice(0, end + until.length);
    const used = new Map(Array.from(shown.matchAll(NAMED), (match) => [match[0], match]));
    for (const [, name = '', member, further] of used.values()) {
      if (REGISTERS.test(name) || found.size >= MOST) continue;
      yield;
      if (name === 'this' && member !== undefined && further !== undefined) {
        const where = ofField(lines, file, member, further) ?? methods.find(member, further);
        if (where !== null) found.add(where);
        continue;
      }
      const isOfClass = name === 'this' || name === 'super';
      const inFile = isOfClass || imports.has(name) ? -1 : definedIn(lines, name);
      const isLocal = inFile === -1 && !isOfClass && member === undefined;
      const own = isOfClass ? methodIn(lines, member ?? '') : isLocal ? localIn(lines, name, first) : inFile;
      const from = isOfClass && own === -1 ? imports.get(baseIn(lines)) : imports.get(name);
      const isUnknown = from === undefined && own === -1 && !isOfClass && member !== undefined;
      const where = isUnknown
        ? ofUnknown({ file, index: first, text: name }, member, further)
        : from !== undefined
          ? imported(from, file, member)
          : own === -1 || near(own) || isOfPackage(lines, own)
            ? null
            : withMethod(file, own, isOfClass ? undefined : member);
      if (where === null) continue;
      found.add(where);
      const of = from === undefined ? file : (moduleOf(from.from, file)?.file ?? file);
      if (!isUnknown && !isOfClass) for (const one of statementsOn(of, from?.name ?? name)) found.add(one);
    }
    for (const [, event = ''] of shown.matchAll(EMITS))
      if (!OWN_EVENTS.test(event))
        for (const one of methods.listeners(event).slice(0, MOST_LISTENERS)) found.add(one);
    return [...found];
  }

  /** Functions that hand out an entry of a cache in the process: around the lines that led to its read, and around other reads of it in that file. */
  function gettersOf(places: readonly string[]): { file: string; name: string }[] {
    return places.flatMap((place, nth) => {
      const [, file = '', number = ''] = /^(.+):(\d+)$/.exec(place) ?? [];
      const lines = linesOf(file) ?? [];
      const index = Number(number) - 1;
      const read = nth === 0 ? READS.exec(lines[index] ?? '')?.[0] : undefined;
      const same = lines.flatMap((line, at) => (read !== undefined && line.includes(read) ? [at] : []));
      return [...new Set([index, ...same])].flatMap((at) => {
        const name = functionAround(lines, at);
        return name === null ? [] : [{ file, name }];
      });
    });
  }

  /** Lines near a cache in the process that call what hands out its entry: one that changes the object changes it for all. `places`: its read, and those that led there. */
  function* sharing(places: readonly string[]): Steps<string[]> {
    const found = new Set<string>();
    // The last one is of the handler.
    for (const { file, name } of gettersOf(places.length === 1 ? places : places.slice(0, -1))) {
      const called = new RegExp(`(?<![\\w$]|Promise\\.|function )${escapeRegExp(name)}\\(`);
      for (const other of methods.around(file)) {
        yield;
        const lines = linesOf(other) ?? [];
        const own = methodIn(lines, name);
        for (const [at, line] of lines.entries())
          if (called.test(line) && at !== own) found.add(`${other}:${at + 1}`);
      }
    }
    return [...found];
  }

  return { at, sharing, tables: methods.tables, refresh: methods.refresh };
}
