/**
 * The nearest place in the host's own code (outside Node and node_modules), such as `src/orders/order-view.ts:41`; else the first
 * library frame. Stacks are the largest single cost of recording: we take structured call sites, and cache what we know of files and places.
 */
import Module, { findSourceMap } from 'node:module';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runInThisContext } from 'node:vm';
import { dropOldest } from '../../profiler/drop-oldest.ts';
import { ownModules, seeing, seenModules } from '../es-modules.ts';
import { createOwnCode, packageOf } from './own-code.ts';
import type { SourceMaps } from './source-maps.ts';
import { filePathOf, parseStack } from './stack-frames.ts';

export interface CallerOptions {
  skip?: string | readonly string[] | undefined;
  stack?: string;
  /** null instead of a library's frame where there is no own one. */
  isOwn?: boolean;
  isFar?: boolean;
  /** null unless own code calls what is skipped without another library in between. */
  isDirect?: boolean;
  /** Own lines that say less than those that call them; `callerOf` finds the next own line, or null. */
  isHelper?: (place: string, callerOf: () => string | null) => boolean;
}

/** Where work was asked for. */
export interface Called {
  /** `file:line`; null if it is not known. */
  caller: string | null;
  /** The lines of own code that led to `caller`, also those that await it, the nearest first; absent if there are none. */
  path?: readonly string[] | undefined;
}

export interface FindCaller {
  (options?: CallerOptions): string | null;
  /** With the lines that led there: all come from one stack. null: none. */
  called(options?: CallerOptions): Called | null;
  /** Own code that calls now, looked for only when it is asked. */
  later(): () => Called | null;
}

export type FindRegistration = (sites: readonly Site[]) => string | null;

/** `file:line` of own code that called a router: `next()` while it runs, or that of this stack; null: a library did; undefined: unknown. */
export type FindNextCaller = (sites?: readonly Site[]) => string | null | undefined;

/** `file:line` of own code that calls a method of a response, asked within it; null if there is none. */
export type FindSender = () => string | null;

export interface Site {
  getFileName(): string | null | undefined;
  getLineNumber(): number | null;
  getColumnNumber(): number | null;
  getPosition?(): number;
  /** Read from a text, where Node.js has written the position in the source already. */
  isText?: boolean;
  getFunctionName?(): string | null;
  getScriptNameOrSourceURL?(): string | null;
}

/** Between us and own code are frames of libraries, of frameworks, and of routers, several for each one that is left. */
const FRAMES = 80;
/** Most callers are this near, behind ten frames of ours and those of a library. The whole stack is taken only if they are not. */
const NEAR_FRAMES = 25;
/** A direct caller stands behind those of ours, and one or two of the library. */
const DIRECT_FRAMES = 14;
/** Of a path: the nearest lines, and the one that all began with. */
const MOST_LINES = 5;
/** NestJS registers controllers and middleware while the application starts: the line that starts it says nothing of them. */
const AT_START = /[\\/]@nestjs[\\/]core[\\/](?:router|middleware)[\\/]/;
/** In each stack of a registration, so that any other package says more. */
const ROUTERS = new Set(['express', 'router', 'express-hindsight']);
/** Ours, around methods of responses. */
const METHODS = new Set([
  'writeHead', 'write', 'end', 'setHeader', 'appendHeader', 'removeHeader', 'hookedWriteHead',
]); // prettier-ignore
const REPLACED =
  /\.(?:json|jsonp|send|sendStatus|end|write|writeHead|setHeader|set|header|append|cookie|redirect|render)$/;
const REMEMBERED = 5000;
/** Saves and touches sessions in its own `res.end`, which says nothing of who called that. */
const SESSION = /[\\/]node_modules[\\/]express-session[\\/]/;

function asSites(_error: unknown, sites: unknown): unknown {
  return sites;
}

/** Takes the call sites of now; the function reads them, the nearest first. None if a host's `Error` throws; settings that it has frozen stay as they are. */
function takeStack(frames: number): () => readonly Site[] {
  const { stackTraceLimit } = Error;
  const taken: { stack?: unknown } = {};
  try {
    Reflect.set(Error, 'stackTraceLimit', frames);
    Error.captureStackTrace(taken);
  } catch {
    // Replaced by the application.
  } finally {
    Reflect.set(Error, 'stackTraceLimit', stackTraceLimit);
  }
  return () => {
    try {
      const { prepareStackTrace } = Error;
      try {
        Reflect.set(Error, 'prepareStackTrace', asSites);
        const { stack } = taken;
        return Array.isArray(stack) ? (stack as Site[]) : [];
      } finally {
        Reflect.set(Error, 'prepareStackTrace', prepareStackTrace);
      }
    } catch {
      return [];
    }
  };
}

export function takeSites(frames = FRAMES): readonly Site[] {
  return takeStack(frames)();
}

function sitesOf(stack: string): Site[] {
  return parseStack(stack, '', '').map(({ function: name, location, line, column }) => ({
    isText: true,
    getFunctionName: () => name,
    getFileName: () => location,
    getLineNumber: () => line,
    getColumnNumber: () => column,
  }));
}

/** Frames behind that of a layer are of code that called `next()`, which has nothing to do with the work of the layer. */
function isLayer(site: Site): boolean {
  return site.getFunctionName?.() === 'hindsightLayer';
}

function ofOneLayer(sites: readonly Site[]): readonly Site[] {
  const at = sites.findIndex(isLayer);
  return at === -1 ? sites : sites.slice(0, at);
}

function foldersOf(libraries: readonly string[]): string[] {
  return libraries.flatMap((library) => [`/node_modules/${library}/`, `/node_modules/${library}-pool/`]);
}

function isIn(file: string, folders: readonly string[]): boolean {
  const path = sep === '/' ? file : file.replaceAll(sep, '/');
  return folders.some((folder) => path.includes(folder));
}

/** An ES module in a stack is loaded, also if no hook of ours saw it load. With a query, it is another copy of a package. */
export function noteModule(file: string): void {
  if (!file.startsWith('file:')) return;
  if (!file.includes('/node_modules/')) ownModules().add(filePathOf(file));
  else if (!file.includes('?') && !seenModules().has(file)) {
    seenModules().add(file);
    seeing.publish(file);
  }
}

type FileKind = 'own' | 'library' | 'ours' | 'node';

/** Code with a `sourceURL`; views that are compiled by their engine have one, too, and no caller. */
const EVALUATED = /\.(?:[cm]?[jt]sx?|vue|svelte|astro)(?:\?.*)?$/;

/** A module that webpack evaluates in development, with its path in the folder of the application: by `eval-source-map` (in Next.js with a layer), or by `eval`. */
export const WEBPACK =
  /^(?:webpack-internal:\/\/\/(?:\([\w-]+\)\/)?|webpack:\/\/[^/]*\/)\.\/([^?]+)(?:\?\w*)?$/;

/** Of the file that a frame is in, or of the one that its evaluated code was made from; empty if there is none. */
function nameOf(site: Site): string {
  const name = site.getFileName();
  if (typeof name === 'string') return name;
  const source = site.getScriptNameOrSourceURL?.() ?? '';
  const [, module] = WEBPACK.exec(source) ?? [];
  if (module !== undefined) return resolve(module);
  return isAbsolute(filePathOf(source)) && EVALUATED.test(source) ? source : '';
}

const TYPESCRIPT = /\.[cm]?tsx?$/;

/** Jest runs an application in a realm of its own, and Node.js asks the `prepareStackTrace` of the main one. */
const MainError = runInThisContext('Error') as ErrorConstructor;

/** ts-node, @swc-node, Jest and Vitest compile in memory, and hand no source map to Node.js: only their `prepareStackTrace` knows the lines. */
function isCompiledInMemory(file: string): boolean {
  return TYPESCRIPT.test(file) || '__vitest_worker__' in globalThis || MainError !== Error;
}

/** Unless `tsconfig.json` asks for source maps, @swc-node makes none. */
function isCompiledWithoutMap(file: string): boolean {
  if (!TYPESCRIPT.test(file)) return false;
  const { _cache: loaded = {} } = Module as unknown as { _cache?: object };
  return [...process.execArgv, ...Object.keys(loaded)].some((name) => name.includes('@swc-node'));
}

const NOT_ASKED = Object.fromEntries([
  ...['FunctionName', 'TypeName', 'MethodName', 'This', 'Function', 'EvalOrigin', 'PromiseIndex'].map(
    (name): [string, () => unknown] => [`get${name}`, () => null],
  ),
  ...['Native', 'Toplevel', 'Eval', 'Constructor', 'Async', 'PromiseAll'].map(
    (name): [string, () => unknown] => [`is${name}`, () => false],
  ),
]);

/** As a loader prints the position in a stack; null if none has taken that over. */
function loaderPosition(file: string, line: number, column: number): { file: string; line: number } | null {
  const prepare: unknown = Error.prepareStackTrace ?? MainError.prepareStackTrace;
  if (typeof prepare !== 'function' || !isCompiledInMemory(file)) return null;
  // Of the prototype, from where loaders copy them.
  const site: unknown = Object.create({
    ...NOT_ASKED,
    getFileName: () => file,
    getScriptNameOrSourceURL: () => file,
    getLineNumber: () => line,
    getColumnNumber: () => column,
    toString: () => `${file}:${line}:${column}`,
  });
  try {
    const text: unknown = Reflect.apply(prepare, Error, [new Error('place'), [site]]);
    const at = typeof text === 'string' ? parseStack(text, 'Error', 'place')[0] : undefined;
    return at?.location === undefined || at.location === null || at.line === null
      ? null
      : { file: filePathOf(at.location), line: at.line };
  } catch {
    return null;
  }
}

export function sourcePosition(
  file: string,
  line: number,
  column: number,
  maps: SourceMaps | undefined,
): { file: string; line: number } {
  // A built file is mapped by its own source map: Node reads none unless started with source maps on, which slows every stack.
  const original = maps?.original(filePathOf(file), line, column) ?? null;
  if (original !== null) return original;
  const entry = findSourceMap(file)?.findEntry(line - 1, Math.max(0, column - 1));
  if (entry === undefined || !('originalSource' in entry))
    return loaderPosition(file, line, column) ?? { file: filePathOf(file), line };
  const source = entry.originalSource;
  const known = source.startsWith('file://') || isAbsolute(source);
  return { file: known ? filePathOf(source) : filePathOf(file), line: entry.originalLine + 1 };
}

/** Relative to `root` if it is inside. */
export function pathIn(root: string, file: string): string {
  const inside = relative(root, file);
  const shown = inside.startsWith('..') || isAbsolute(inside) ? file : inside;
  return shown.split(sep).join('/');
}

export function placeText(root: string, { file, line }: { file: string; line: number }): string {
  return `${pathIn(root, file)}:${line}`;
}

/** The profiler's files between a library and its caller (`register` stands below whatever is loaded); elsewhere in `app` there may be code of the owner. */
const OURS =
  /^(?:observe|profiler|middleware|service[\\/]middleware)[\\/]|^(?:hindsight-[^\\/]+|register)\.[jt]s/;
/** `service/app.ts` mounts the owner's routers, and is changed by the owner. */
const MOUNTING = /^(?:compose|service)[\\/](?!app\.|middleware[\\/])/;
/** The same for original sources, where the build joined several files into one. */
const OURS_WRITTEN = /(?:^|[\\/])app[\\/](?:observe|profiler|middleware|service[\\/]middleware)[\\/].+\.ts$/;

let foldersOfOurs: readonly string[] | undefined;

export function isProfilerFile(text: string): boolean {
  return isBelowOurFolder(text, OURS);
}

export function isMountingFrame(line: string): boolean {
  return isBelowOurFolder(line, MOUNTING);
}

function isBelowOurFolder(text: string, files: RegExp): boolean {
  return profilerFolders().some((folder) => {
    const at = text.indexOf(folder);
    return at !== -1 && files.test(text.slice(at + folder.length));
  });
}

/** As written in stacks: as an address, as a path, and relative to the build's sources. Empty if unknown. */
function profilerFolders(): readonly string[] {
  return (foldersOfOurs ??= findOwnFolders());
}

/** Read from the stack, so that each copy of the package finds its own. */
function findOwnFolders(): readonly string[] {
  const file = takeSites()[0]?.getFileName() ?? '';
  const end = file.search(/(?:observe[\\/]stacks[\\/]caller|hindsight-[^\\/]+|index|service)\.[jt]s$/);
  if (end < 1) return [];
  const folder = file.slice(0, end);
  const path = folder.startsWith('file:') ? fileURLToPath(folder) : folder;
  return [...new Set([folder, path, path.replace(/dist([\\/])(?:app|cjs)[\\/]$/, 'app$1')])];
}

/** A method of a response that own code has replaced: one of Node.js or Express calls it, or a name such as `res.json` tells. */
function wrapsMethod(site: Site, caller: Site | undefined): boolean {
  const file = caller?.getFileName() ?? '';
  const by = caller?.getFunctionName?.() ?? '';
  return (
    REPLACED.test(site.getFunctionName?.() ?? '') ||
    file.startsWith('node:_http') ||
    ROUTERS.has(packageOf(filePathOf(file)) ?? '') ||
    (isProfilerFile(file) && METHODS.has(by))
  );
}

interface Frame {
  kind: 'own' | 'library';
  file: string;
  place: string;
}

/** `root`: the folder that own places are relative to. `maps` translate places of built files. */
export function createCallerFinder(
  root: string = process.cwd(),
  maps?: SourceMaps,
): FindCaller & { registration: FindRegistration; next: FindNextCaller; sender: FindSender } {
  const kinds = new Map<string, FileKind>();
  const places = new Map<string, string | null>();
  const isOwn = createOwnCode(root);

  function kindOf(file: string): FileKind {
    const known = kinds.get(file);
    if (known !== undefined) return known;
    const hasNoFile = file === '' || /^(?:node|wasm):/.test(file);
    const kind = hasNoFile ? 'node' : isProfilerFile(file) ? 'ours' : isOwn(file) ? 'own' : 'library';
    kinds.set(file, kind);
    dropOldest(kinds, REMEMBERED);
    if (kind === 'library') noteModule(file);
    return kind;
  }

  /** Code that was transformed and evaluated, by Vite for example. Node.js knows its map if it was started with `--enable-source-maps`. */
  function evaluatedPlace(file: string, line: number, column: number): string {
    const [path = file] = filePathOf(file).split('?');
    // Without a map, its lines are not those of the file.
    if (findSourceMap(file) === undefined) return placeText(root, { file: path, line }).replace(/:\d+$/, '');
    return placeText(root, sourcePosition(file, line, column, undefined));
  }

  function findPlace(site: Site, file: string, kind: FileKind): string | null {
    const line = site.getLineNumber() ?? 0;
    const column = site.getColumnNumber() ?? 0;
    if (typeof site.getFileName() !== 'string') return evaluatedPlace(file, line, column);
    const written = { file: filePathOf(file), line };
    // A library's source map names files that nobody has.
    const position =
      kind === 'library'
        ? written
        : site.isText === true
          ? (maps?.original(written.file, line, column) ?? written)
          : sourcePosition(file, line, column, maps);
    if (position.line === line && isCompiledWithoutMap(file))
      return placeText(root, position).replace(/:\d+$/, '');
    const isOurs = profilerFolders().some((folder) => file.startsWith(folder));
    return isOurs && OURS_WRITTEN.test(position.file) ? null : placeText(root, position);
  }

  function placeOf(site: Site, file: string, kind: FileKind): string | null {
    // Of V8, and half the cost of a line. A text has none.
    const position = site.getPosition?.() ?? `${site.getLineNumber()}:${site.getColumnNumber()}`;
    const key = `${file} ${position}`;
    let place = places.get(key);
    if (place === undefined) {
      place = findPlace(site, file, kind);
      places.set(key, place);
      dropOldest(places, REMEMBERED);
    }
    return place;
  }

  /** A bundle is the application's own, but not the libraries that its source map finds in it. */
  function isOfLibrary(kind: FileKind, place: string): boolean {
    return kind === 'library' || place.includes('node_modules/');
  }

  function* framesOf(sites: readonly Site[]): Generator<Frame> {
    for (const site of sites) {
      const file = nameOf(site);
      const kind = kindOf(file);
      if (kind === 'ours' || kind === 'node') continue;
      const place = placeOf(site, file, kind);
      if (place !== null) yield { kind: isOfLibrary(kind, place) ? 'library' : 'own', file, place };
    }
  }

  /** Name of the nearest framework; Express and its router only where there is no other. We only watch them. */
  function searchPackage(sites: readonly Site[]): string | null {
    const names = sites
      .flatMap((site) => packageOf(filePathOf(site.getFileName() ?? '')) ?? [])
      .filter((name) => name !== 'express-hindsight');
    return names.find((name) => !ROUTERS.has(name)) ?? names[0] ?? null;
  }

  /** Places of libraries are not looked up: a stack has many of their frames. */
  function pathFrom(sites: readonly Site[], at: number, place: string): readonly string[] | undefined {
    const lines = [place];
    for (const site of sites.slice(at)) {
      const file = nameOf(site);
      const kind = kindOf(file);
      if (kind === 'ours' && isLayer(site)) break;
      const line = kind === 'own' ? placeOf(site, file, kind) : null;
      if (line !== null && !isOfLibrary(kind, line) && line !== lines.at(-1)) lines.push(line);
    }
    if (lines.length === 1) return undefined;
    if (lines.length > MOST_LINES + 1) lines.splice(MOST_LINES, lines.length - MOST_LINES - 1);
    return lines.slice(1);
  }

  /** `isWhole`: more frames would tell no more. */
  function nearest(
    sites: readonly Site[],
    {
      skip,
      isDirect = false,
      isHelper,
    }: { skip: readonly string[] } & Pick<CallerOptions, 'isDirect' | 'isHelper'>,
  ): { own: Called | null; library: string | null; helper: Called | null; isWhole: boolean } {
    const skipped = foldersOf(skip);
    let library: string | null = null;
    let helper: Called | null = null;
    for (const [at, site] of sites.entries()) {
      const file = nameOf(site);
      const kind = kindOf(file);
      if (kind === 'ours' && isLayer(site)) return { own: null, library, helper, isWhole: true };
      if (kind === 'ours' || kind === 'node') continue;
      if (kind === 'library' && SESSION.test(file) && site.getFunctionName?.()?.endsWith('end') === true)
        return { own: null, library: library ?? placeOf(site, file, kind), helper: null, isWhole: true };
      if (kind === 'library' && (library !== null || isIn(file, skipped))) continue;
      if (kind === 'library' && isDirect) return { own: null, library, helper, isWhole: true };
      const place = placeOf(site, file, kind);
      if (place === null || isOfLibrary(kind, place)) {
        library ??= place;
        continue;
      }
      const path = pathFrom(sites, at + 1, place);
      const called = path === undefined ? { caller: place } : { caller: place, path };
      // Of a stack that was cut right behind it, the lines that led there are missing.
      if (isHelper?.(place, () => path?.[0] ?? null) !== true)
        return { own: called, library, helper, isWhole: at + MOST_LINES < sites.length };
      helper ??= called;
    }
    return { own: null, library, helper, isWhole: false };
  }

  const called = (options: CallerOptions = {}): Called | null => {
    const { stack, isOwn: onlyOwn = false, isFar = false } = options;
    const how = { ...options, skip: [options.skip ?? []].flat() };
    try {
      if (stack !== undefined) return nearest(sitesOf(stack), { skip: [] }).own;
      const frames = isFar ? FRAMES : options.isDirect === true ? DIRECT_FRAMES : NEAR_FRAMES;
      const near = takeSites(frames);
      const found = nearest(near, how);
      const { own, library, helper } =
        found.isWhole || isFar || near.length < frames ? found : nearest(takeSites(), how);
      return own ?? helper ?? (onlyOwn || library === null ? null : { caller: library });
    } catch {
      return null;
    }
  };

  const find = (options?: CallerOptions): string | null => called(options)?.caller ?? null;

  const later: FindCaller['later'] = () => {
    const sites = takeStack(NEAR_FRAMES);
    return () => {
      try {
        return nearest(sites(), { skip: [] }).own;
      } catch {
        return null;
      }
    };
  };

  const registration: FindRegistration = (sites) => {
    // Express 4 registers its own middleware with the application's first one.
    const isOfFramework = sites.some(
      (site) => site.getFunctionName?.() === 'lazyrouter' || AT_START.test(nameOf(site)),
    );
    const own = isOfFramework ? undefined : [...framesOf(sites)].find(({ kind }) => kind === 'own');
    return own?.place ?? searchPackage(sites);
  };

  const next: FindNextCaller = (sites = takeSites()) => {
    try {
      const frame = [...framesOf(sites)].find(({ file }) => !ROUTERS.has(packageOf(filePathOf(file)) ?? ''));
      return frame === undefined ? undefined : frame.kind === 'own' ? frame.place : null;
    } catch {
      return undefined;
    }
  };

  const sender: FindSender = () => {
    try {
      const sites = ofOneLayer(takeSites(NEAR_FRAMES));
      for (const [at, site] of sites.entries()) {
        if (kindOf(nameOf(site)) !== 'own' || wrapsMethod(site, sites[at + 1])) continue;
        const place = placeOf(site, nameOf(site), 'own');
        if (place === null || !isOfLibrary('own', place)) return place;
      }
      return null;
    } catch {
      return null;
    }
  };

  return Object.assign(find, { called, later, registration, next, sender });
}
