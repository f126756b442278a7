/**
 * Which files of an application define a method, import another file, listen to an event or name a table: of a parameter, as dependency
 * injection has them, no line says what it is. Read in steps when code is shown, and again only if a file was changed.
 */
import { type Dir, type Dirent, opendirSync } from 'node:fs';
import { join, posix, resolve } from 'node:path';
import { addTo } from '../../profiler/group-by.ts';
import type { Steps } from '../../profiler/turns.ts';
import { importedPath, importsIn, moduleName } from './imports.ts';
import type { SourceFiles } from './source-files.ts';

/** A text, or a constant such as `Events.CREATED`. */
export const EVENT = String.raw`\(\s*(?:['"\x60]|(?=[A-Z]))([\w$.:/-]+)`;
const MOST_FILES = 1000;
const MOST_FOLDERS = 500;
const MOST_ENTRIES = 1000;
const DEEPEST = 8;
const LONGEST_LINE = 400;
const MOST_LINES = 10_000;
/** Characters. */
const LARGEST_FILE = 300_000;
const CODE = /(?<!\.d)\.[cm]?[jt]sx?$/;
const NOT_RUN = /^(?:node_modules|dist|build|coverage|public|tests?|__tests__|e2e|migrations|\..*)$/;
const TEST = /\.(?:test|spec)\.[cm]?[jt]sx?$/;
/** Milliseconds for which the list of files is taken to be complete. */
const LISTED_FOR = 5000;
const METHOD =
  /^[ \t]+(?:(?:public|private|protected|static|override|async|get|set)\s+)*\*?(#?[A-Za-z_$][\w$]*)\s*(?:=(?!=)|:|[(<]).*(?:\{|=>|\($)/;
/** `return { find: (id) => rows.get(id) };` */
const IN_LINE = /[{,]\s*([A-Za-z_$][\w$]*)\s*:\s*(?:async\s*)?(?:\([^)]*\)|[\w$]+)\s*=>/g;
const TABLE = /\b(?:create\s+table(?:\s+if\s+not\s+exists)?|references)\s+["`]?(\w+)/gi;
const LISTENS = new RegExp(
  String.raw`(?:\.(?:on|once|off|(?:add|remove|prepend|prependOnce)Listener)|@OnEvent)${EVENT}`,
  'g',
);
/** They begin like a method. */
const KEYWORD = /^(?:if|for|while|switch|catch|return|await|with|function|const|let|var|else|do|try)$/;
/** Of values of the language and of Express: found only by the name of what they belong to. */
const COMMON = new Set([
  ...[Array, String, Map, Set, Promise, Date, RegExp, Number].flatMap((one) => Object.getOwnPropertyNames(one.prototype)),
  ...[Object, Promise, Math, JSON, console].flatMap((one) => Object.getOwnPropertyNames(one)),
  ...'json send status header query next use end write redirect render type cookie close open run create emit on once off read'.split(' '),
]); // prettier-ignore

interface Indexed {
  changedAt: number | null;
  methods: ReadonlyMap<string, number>;
  /** Modules by their name. */
  imports: ReadonlySet<string>;
  /** Index of a line, and the table that it creates or references. */
  tables: readonly Named[];
  /** The same of an event that is listened to. */
  events: readonly Named[];
}

type Named = readonly [at: number, name: string];

function plain(name: string): string {
  return name.replace(/[^A-Za-z]/g, '').toLowerCase();
}

/** `orderService` is in `OrderService.ts`, `order.service.ts` or `orders/service.ts`. */
function isNamedLike(file: string, name: string): boolean {
  const base = posix.basename(file).replace(CODE, '');
  const folder = posix.basename(posix.dirname(file));
  const [wanted, own] = [plain(name), plain(base)];
  return (
    own.includes(wanted) || plain(folder + base).includes(wanted) || (own.length > 3 && wanted.includes(own))
  );
}

const written = new WeakMap<readonly string[], readonly string[]>();

/** Lines that a person wrote, in which names are looked for: a minified line is empty, and a bundle has none. */
export function writtenLines(lines: readonly string[]): readonly string[] {
  const known = written.get(lines);
  if (known !== undefined) return known;
  const isBundle =
    lines.length > MOST_LINES || lines.reduce((sum, { length }) => sum + length, 0) > LARGEST_FILE;
  const plain = isBundle ? [] : lines.map((line) => (line.length > LONGEST_LINE ? '' : line));
  written.set(lines, plain);
  return plain;
}

/** Index of the first line that defines each method. */
export function methodsIn(lines: readonly string[]): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const [at, line] of lines.entries()) {
    const names = [
      METHOD.exec(line)?.[1] ?? '',
      ...Array.from(line.matchAll(IN_LINE), ([, name = '']) => name),
    ];
    for (const name of names) if (name !== '' && !KEYWORD.test(name) && !found.has(name)) found.set(name, at);
  }
  return found;
}

/** The first entries: a folder of uploads may have millions. None that can't be read. */
function entriesOf(path: string): Dirent[] {
  const entries: Dirent[] = [];
  let folder: Dir | undefined;
  try {
    folder = opendirSync(path);
    while (entries.length < MOST_ENTRIES) {
      const entry = folder.readSync();
      if (entry === null) break;
      entries.push(entry);
    }
  } catch {
    // It is not ours, or it is gone.
  } finally {
    folder?.closeSync();
  }
  return entries;
}

function namesIn(lines: readonly string[], pattern: RegExp): Named[] {
  return lines.flatMap((line, at) =>
    Array.from(line.matchAll(pattern), ([, name = '']) => [at, name] as const),
  );
}

/** Places of methods, of tables and of listeners, and files that import a module. */
function emptyNames() {
  const empty = (): Map<string, string[]> => new Map();
  return { methods: empty(), importing: empty(), tables: empty(), events: empty() };
}

export function createMethodIndex({
  root,
  files,
}: {
  root: string;
  files: Pick<SourceFiles, 'lines' | 'changedAt'>;
}) {
  let byFile = new Map<string, Indexed>();
  let byName = emptyNames();
  let listedAt = -Infinity;

  let folders = 0;

  function* filesIn(folder: string, depth = 0): Generator<string> {
    if (++folders > MOST_FOLDERS) return;
    for (const entry of entriesOf(resolve(root, folder))) {
      const path = join(folder, entry.name).replaceAll('\\', '/');
      if (entry.isDirectory() && depth < DEEPEST && !NOT_RUN.test(entry.name))
        yield* filesIn(path, depth + 1);
      else if (entry.isFile() && CODE.test(entry.name) && !TEST.test(entry.name)) yield path;
    }
  }

  function indexed(file: string): Omit<Indexed, 'changedAt'> {
    const lines = writtenLines(files.lines(resolve(root, file)) ?? []);
    const imports = Array.from(importsIn(lines).values(), ({ from }) => moduleName(importedPath(from, file)));
    return {
      methods: methodsIn(lines),
      imports: new Set(imports),
      tables: namesIn(lines, TABLE),
      events: namesIn(lines, LISTENS),
    };
  }

  return {
    *refresh(): Steps<void> {
      const now = performance.now();
      if (now - listedAt < LISTED_FOR) return;
      listedAt = now;
      folders = 0;
      const found = new Map<string, Indexed>();
      for (const file of filesIn('')) {
        if (found.size === MOST_FILES) break;
        const changedAt = files.changedAt(resolve(root, file));
        const known = byFile.get(file);
        found.set(file, known?.changedAt === changedAt ? known : { changedAt, ...indexed(file) });
        yield;
      }
      byFile = found;
      const names = emptyNames();
      for (const [file, { methods, imports, tables, events }] of found) {
        for (const [name, at] of methods) addTo(names.methods, name, `${file}:${at + 1}`);
        for (const module of imports) addTo(names.importing, module, file);
        for (const [at, table] of tables) addTo(names.tables, table.toLowerCase(), `${file}:${at + 1}`);
        for (const [at, event] of events) addTo(names.events, event, `${file}:${at + 1}`);
        yield;
      }
      byName = names;
    },
    /** Files that import a file. */
    importing: (file: string): readonly string[] => byName.importing.get(moduleName(file)) ?? [],
    /** These, and all of its folder. */
    around: (file: string): readonly string[] => [
      ...new Set([
        ...[...byFile.keys()].filter((one) => posix.dirname(one) === posix.dirname(file)),
        ...(byName.importing.get(moduleName(file)) ?? []),
      ]),
    ],
    /** Lines of SQL that create a table, or reference it. */
    tables: (name: string): readonly string[] => byName.tables.get(name.toLowerCase()) ?? [],
    /** Lines that add or remove a listener of an event. */
    listeners: (event: string): readonly string[] => byName.events.get(event) ?? [],
    /** The only method of that name, or the one in a file that is named like its object; null: none, or several. */
    find(object: string, method: string): string | null {
      const all = byName.methods.get(method) ?? [];
      const named = all.filter((place) => isNamedLike(place.replace(/:\d+$/, ''), object));
      const [one] = named.length > 0 ? named : COMMON.has(method) ? [] : all;
      return one === undefined || (named.length || all.length) > 1 ? null : one;
    },
  };
}
