/**
 * Where in the host's own code something was asked for: `src/orders/order-view.ts:41`, or null.
 *
 * The largest single cost of recording (8 µs each between other work), so: structured call sites instead of text, few
 * frames, and what is known of a file or a place remembered, its source map followed once. `new Error` takes two thirds
 * of what `Error.captureStackTrace` does, most of the rest went into leaving out the frames above a function: so they are
 * counted once and skipped from then on. Own code is what lies neither in Node nor in node_modules; where no frame is,
 * the first library frame that is not skipped stands in, so that a library's warning names the library.
 */
import { findSourceMap } from 'node:module';
import { isAbsolute, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { SourceMaps } from './source-maps.ts';

export interface CallerOptions {
  /** Frames above and including this function are left out; how many there are is the same each time. */
  below?: (...args: never[]) => unknown;
  /** Frames looked at, in all and at first: where own code is mostly near, the others cost nothing. */
  frames?: number;
  near?: number;
  /** Folder of a library whose frames never count, such as `knex`. */
  skip?: string;
}

/** `file:line` of the nearest own frame; null where there is none. Never throws. */
export type FindCaller = (options: CallerOptions) => string | null;

/** Takes the stack now and looks for the place when it is asked for: reading source maps would keep a start waiting. */
export type CaptureCaller = (options: Pick<CallerOptions, 'below'>) => () => string | null;

/** What is taken of V8's CallSite. */
interface Site {
  getFileName(): string | null | undefined;
  getLineNumber(): number | null;
  getColumnNumber(): number | null;
}

const FRAMES = 12;
const NEAR = 4;
/** Positions remembered at most; own code has few places that query or log. */
const REMEMBERED = 5000;

function asSites(_error: unknown, sites: unknown): unknown {
  return sites;
}

/** Call sites: below a function, or from this one on. Settings of `Error` that a host has frozen stay as they are. */
function takeSites(frames: number, below?: CallerOptions['below']): readonly Site[] {
  const { prepareStackTrace, stackTraceLimit } = Error;
  try {
    Reflect.set(Error, 'prepareStackTrace', asSites);
    Reflect.set(Error, 'stackTraceLimit', frames);
    const holder: { stack?: unknown } = below === undefined ? new Error() : {};
    if (below !== undefined) Error.captureStackTrace(holder, below);
    return Array.isArray(holder.stack) ? (holder.stack as Site[]) : [];
  } finally {
    Reflect.set(Error, 'prepareStackTrace', prepareStackTrace);
    Reflect.set(Error, 'stackTraceLimit', stackTraceLimit);
  }
}

function pathOf(file: string): string {
  return file.startsWith('file://') ? fileURLToPath(file) : file;
}

function isIn(file: string, library: string | undefined): boolean {
  return library !== undefined && file.replaceAll('\\', '/').includes(`/node_modules/${library}/`);
}

/** What is known of a file whose name stood in a stack. */
interface KnownFile {
  name: string;
  kind: 'own' | 'library' | 'neither';
  /** By line and column; null where the profiler's own code stands there. */
  places: Map<number, string | null>;
}

/** Of a line and a column one number, small where the column is. */
const COLUMN = 2 ** 20;

/** Position in the source that was written, where a source map is known. */
function sourcePosition(
  file: string,
  line: number,
  column: number,
  maps: SourceMaps | undefined,
): { file: string; line: number } {
  // Of a built file, by its own map: Node keeps none unless it was started with source maps on, which slows every stack.
  const original = maps?.original(pathOf(file), line, column) ?? null;
  if (original !== null) return original;
  const entry = findSourceMap(file)?.findEntry(line - 1, Math.max(0, column - 1));
  if (entry === undefined || !('originalSource' in entry)) return { file: pathOf(file), line };
  const source = entry.originalSource;
  const known = source.startsWith('file://') || isAbsolute(source);
  return { file: known ? pathOf(source) : pathOf(file), line: entry.originalLine + 1 };
}

/** Files of the profiler that stand between a library and its caller; elsewhere in `app` an owner's code may live. */
const OURS = /^(?:observe|profiler|middleware)[\\/]|^hindsight-[^\\/]+\.js$/;
/** The same in what was written, for files that the build joined from several. */
const OURS_WRITTEN = /(?:^|[\\/])app[\\/](?:observe|profiler|middleware)[\\/][^\\/]+\.ts$/;

/** The folder that holds the rooms, or what the build joined them to: read off the stack, so that each tells its own. */
function ownFolder(): string {
  const file = takeSites(1)[0]?.getFileName() ?? '';
  return file.slice(
    0,
    Math.max(0, file.search(/(?:observe[\\/]caller|hindsight-[^\\/]+|index|service)\.[jt]s$/)),
  );
}

/** `root` is the folder that own places are named from; `maps` translate the places of built files. */
export function createCallerFinder(
  root: string = process.cwd(),
  maps?: SourceMaps,
): FindCaller & { capture: CaptureCaller } {
  const files = new Map<string, KnownFile>();
  const above = new WeakMap<NonNullable<CallerOptions['below']>, number>();
  const folder = ownFolder();
  let remembered = 0;

  function kindOf(file: string): KnownFile['kind'] {
    if (file === '' || file.startsWith('node:')) return 'neither';
    if (folder !== '' && file.startsWith(folder) && OURS.test(file.slice(folder.length))) return 'neither';
    return file.includes('node_modules') ? 'library' : 'own';
  }

  function fileOf(name: string): KnownFile {
    const known = files.get(name);
    if (known !== undefined) return known;
    const file: KnownFile = { name, kind: kindOf(name), places: new Map() };
    files.set(name, file);
    remembered++;
    return file;
  }

  /** null where the place is the profiler's own, and does not count. */
  function placeOf({ name, places }: KnownFile, site: Site): string | null {
    const line = site.getLineNumber() ?? 0;
    const column = site.getColumnNumber() ?? 0;
    const key = column * COLUMN + line;
    const before = places.get(key);
    if (before !== undefined) return before;
    const position = sourcePosition(name, line, column, maps);
    if (folder !== '' && name.startsWith(folder) && OURS_WRITTEN.test(position.file)) {
      places.set(key, null);
      return null;
    }
    const inside = relative(root, position.file);
    const shown = inside.startsWith('..') || isAbsolute(inside) ? position.file : inside;
    const place = `${shown.split(sep).join('/')}:${position.line}`;
    places.set(key, place);
    remembered++;
    return place;
  }

  /** The nearest frame of own code. */
  function searchOwn(sites: readonly Site[], from: number): string | null {
    for (let index = from; index < sites.length; index++) {
      const site = sites[index];
      const name = site?.getFileName();
      if (site === undefined || typeof name !== 'string') continue;
      const file = fileOf(name);
      const place = file.kind === 'own' ? placeOf(file, site) : null;
      if (place !== null) return place;
    }
    return null;
  }

  /** The first frame of a library that counts. */
  function searchLibrary(sites: readonly Site[], from: number, skip: string | undefined): string | null {
    for (const site of sites.slice(from)) {
      const file = fileOf(site.getFileName() ?? '');
      if (file.kind === 'library' && !isIn(file.name, skip)) return placeOf(file, site);
    }
    return null;
  }

  /** How many frames stand above those that count, as they will in the stacks that its caller takes. */
  function countAbove(below: NonNullable<CallerOptions['below']>): number {
    const count = takeSites(Infinity).length - takeSites(Infinity, below).length - 1;
    above.set(below, count);
    return count;
  }

  const find: FindCaller = ({ below, frames = FRAMES, near = NEAR, skip }) => {
    try {
      if (remembered > REMEMBERED) {
        files.clear();
        remembered = 0;
      }
      const from = below === undefined ? 0 : (above.get(below) ?? countAbove(below));
      let sites = takeSites(from + Math.min(near, frames));
      const found = searchOwn(sites, from);
      if (found !== null) return found;
      if (near < frames && sites.length === from + near) sites = takeSites(from + frames);
      return searchOwn(sites, from) ?? searchLibrary(sites, from, skip);
    } catch {
      return null;
    }
  };

  const capture: CaptureCaller = ({ below }) => {
    const sites = takeSites(FRAMES, below);
    return () => searchOwn(sites, 0) ?? searchLibrary(sites, 0, undefined);
  };

  return Object.assign(find, { capture });
}
