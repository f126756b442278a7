/**
 * Which files of an application define a method: of a parameter, as dependency injection has them, no line says what it is. Read in steps
 * when code is shown, and again only if a file was changed.
 */
import { type Dir, type Dirent, opendirSync } from 'node:fs';
import { join, posix, resolve } from 'node:path';
import { groupBy } from '../../profiler/group-by.ts';
import type { Steps } from '../../profiler/turns.ts';
import type { SourceFiles } from './source-files.ts';

const MOST_FILES = 1000;
const MOST_FOLDERS = 500;
const MOST_ENTRIES = 1000;
const DEEPEST = 8;
const LONGEST_LINE = 400;
const CODE = /(?<!\.d)\.[cm]?[jt]sx?$/;
const NOT_RUN = /^(?:node_modules|dist|build|coverage|public|tests?|__tests__|e2e|migrations|\..*)$/;
const TEST = /\.(?:test|spec)\.[cm]?[jt]sx?$/;
/** Milliseconds for which the list of files is taken to be complete. */
const LISTED_FOR = 5000;
const METHOD =
  /^[ \t]+(?:(?:public|private|protected|static|override|async|get|set)\s+)*\*?(#?[A-Za-z_$][\w$]*)\s*(?:=(?!=)|:|[(<]).*(?:\{|=>|\($)/;
/** `return { find: (id) => rows.get(id) };` */
const IN_LINE = /[{,]\s*([A-Za-z_$][\w$]*)\s*:\s*(?:async\s*)?(?:\([^)]*\)|[\w$]+)\s*=>/g;
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
}

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

/** Index of the first line that defines each method. */
export function methodsIn(lines: readonly string[]): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const [at, line] of lines.entries()) {
    if (line.length > LONGEST_LINE) continue;
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

export function createMethodIndex({
  root,
  files,
}: {
  root: string;
  files: Pick<SourceFiles, 'lines' | 'changedAt'>;
}) {
  let byFile = new Map<string, Indexed>();
  let byName: ReadonlyMap<string, readonly { place: string }[]> = new Map();
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
        const methods =
          known?.changedAt === changedAt ? known.methods : methodsIn(files.lines(resolve(root, file)) ?? []);
        found.set(file, { changedAt, methods });
        yield;
      }
      byFile = found;
      const all = [...found].flatMap(([file, { methods }]) =>
        Array.from(methods, ([name, at]) => ({ name, place: `${file}:${at + 1}` })),
      );
      byName = groupBy(all, ({ name }) => name);
    },
    /** The only method of that name, or the one in a file that is named like its object; null: none, or several. */
    find(object: string, method: string): string | null {
      const all = byName.get(method) ?? [];
      const named = all.filter(({ place }) => isNamedLike(place.replace(/:\d+$/, ''), object));
      const [one] = named.length > 0 ? named : COMMON.has(method) ? [] : all;
      return one === undefined || (named.length || all.length) > 1 ? null : one.place;
    },
  };
}
