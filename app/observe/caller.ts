/**
 * Where in the host's own code something was asked for: `src/orders/order-view.ts:41`, or null.
 *
 * The largest single cost of recording (5 to 15 µs each), so: structured call sites instead of text, few frames, the
 * position translated through source maps once and remembered. Own code is what lies neither in Node nor in
 * node_modules; where no frame is, the first library frame that is not skipped stands in, so that a library's warning
 * names the library.
 */
import { findSourceMap } from 'node:module';
import { isAbsolute, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { SourceMaps } from './source-maps.ts';

export interface CallerOptions {
  /** Frames above and including this function are left out. */
  below?: (...args: never[]) => unknown;
  /** Frames looked at, in all and at first: where own code is mostly near, the others cost nothing. */
  frames?: number;
  near?: number;
  /** Folder of a library whose frames never count, such as `knex`. */
  skip?: string;
}

/** `file:line` of the nearest own frame; null where there is none. Never throws. */
export type FindCaller = (options: CallerOptions) => string | null;

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

function sitesBelow(below: CallerOptions['below'], frames: number): readonly Site[] {
  const { prepareStackTrace, stackTraceLimit } = Error;
  const holder: { stack?: unknown } = {};
  try {
    Error.prepareStackTrace = asSites;
    Error.stackTraceLimit = frames;
    Error.captureStackTrace(holder, below);
    return Array.isArray(holder.stack) ? (holder.stack as Site[]) : [];
  } finally {
    Error.prepareStackTrace = prepareStackTrace;
    Error.stackTraceLimit = stackTraceLimit;
  }
}

function pathOf(file: string): string {
  return file.startsWith('file://') ? fileURLToPath(file) : file;
}

function isIn(file: string, library: string | undefined): boolean {
  return library !== undefined && file.replaceAll('\\', '/').includes(`/node_modules/${library}/`);
}

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
const OURS = /^(?:observe|profiler|middleware)[\\/]/;

/** The folder that holds `observe`: read off the stack, so that sources and built files tell their own. */
function ownFolder(): string {
  const file = sitesBelow(sitesBelow, 1)[0]?.getFileName() ?? '';
  return file.slice(0, Math.max(0, file.search(/observe[\\/]caller\.[jt]s/)));
}

/** `root` is the folder that own places are named from; `maps` translate the places of built files. */
export function createCallerFinder(root: string = process.cwd(), maps?: SourceMaps): FindCaller {
  const places = new Map<string, string>();
  const folder = ownFolder();
  const isOurs = (file: string): boolean =>
    folder !== '' && file.startsWith(folder) && OURS.test(file.slice(folder.length));

  function placeOf(file: string, site: Site): string {
    const line = site.getLineNumber() ?? 0;
    const column = site.getColumnNumber() ?? 0;
    const key = `${file}:${line}:${column}`;
    const before = places.get(key);
    if (before !== undefined) return before;
    const position = sourcePosition(file, line, column, maps);
    const inside = relative(root, position.file);
    const shown = inside.startsWith('..') || isAbsolute(inside) ? position.file : inside;
    const place = `${shown.split(sep).join('/')}:${position.line}`;
    if (places.size >= REMEMBERED) places.clear();
    places.set(key, place);
    return place;
  }

  /** The nearest own frame; where there is none, the first of a library that counts. */
  function search(sites: readonly Site[], skip: string | undefined): { place: string; own: boolean } | null {
    let library: Site | null = null;
    for (const site of sites) {
      const file = site.getFileName();
      if (typeof file !== 'string' || file === '' || file.startsWith('node:') || isOurs(file)) continue;
      if (!file.includes('node_modules')) return { place: placeOf(file, site), own: true };
      if (library === null && !isIn(file, skip)) library = site;
    }
    return library === null ? null : { place: placeOf(library.getFileName() ?? '', library), own: false };
  }

  return ({ below, frames = FRAMES, near = NEAR, skip }) => {
    try {
      const first = Math.min(near, frames);
      const sites = sitesBelow(below, first);
      const found = search(sites, skip);
      if (found?.own === true || sites.length < first || frames === first) return found?.place ?? null;
      return search(sitesBelow(below, frames), skip)?.place ?? null;
    } catch {
      return null;
    }
  };
}
