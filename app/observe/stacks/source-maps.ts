/**
 * A place in executed code -> the place in the original source, through the source map that the file names: inline, or a `.map`
 * file read by the rules of source-files.ts. Synchronous; a few parsed maps are cached by their text. TypeScript that is run
 * directly needs no map.
 */
import { dirname, isAbsolute, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { SourceFiles } from './source-files.ts';
import { type FindMapped, type MappedPlace, readMappings } from './source-mappings.ts';
import { dropOldest } from '../../profiler/drop-oldest.ts';

export interface OriginalPlace {
  /** Absolute path, or the map's name for a source that is not a path (`webpack://…`). */
  file: string;
  line: number;
  /** Counted from 1. */
  column: number;
  /** Lines of the source, from the map or the file; null if neither has them. */
  lines: readonly string[] | null;
}

interface ParsedMap {
  /** Of the executed file. */
  text: string;
  /** In the order of the file; empty if it names no map, or an unreadable one. */
  parts: readonly MapPart[];
  /** Folder that sources are relative to. */
  folder: string;
  /** Text of the sources that the map includes, by their names. */
  contents: Map<string, string>;
  lines: Map<string, readonly string[]>;
  /** Names of these sources, by their absolute paths: a bundle has thousands. */
  names: ReadonlyMap<string, string>;
}

/** The map of a file from a line and column on, counted from 0. */
interface MapPart {
  line: number;
  column: number;
  find: FindMapped;
  /** Names of the sources, rooted. */
  sources: readonly string[];
}

interface MapPayload {
  mappings?: unknown;
  sources?: unknown[];
  sourcesContent?: unknown[];
  sourceRoot?: string;
}

/** A map, or an index of maps for parts of a file. */
interface MapDocument extends MapPayload {
  sections?: { offset: { line: number; column: number }; map: MapPayload }[];
}

const CACHED_MAPS = 60;
const COMPILED = /\.[cm]?js$/i;
const MARK = 'sourceMappingURL=';
const MAPPINGS = /^[A-Za-z0-9+/,;]*$/;
/** Node and the TypeScript compiler write this comment at the end. */
const COMMENT = /^\/\/[#@] sourceMappingURL=(\S+)\s*$/;

/** What the file's last comment names; null if there is none. */
function mapUrlOf(text: string): string | null {
  const mark = text.lastIndexOf(MARK);
  if (mark === -1) return null;
  const start = text.lastIndexOf('\n', mark) + 1;
  const end = text.indexOf('\n', mark);
  return COMMENT.exec(text.slice(start, end === -1 ? undefined : end).trim())?.[1] ?? null;
}

function inlineMap(url: string): string | null {
  const comma = url.indexOf(',');
  const kind = url.slice(0, comma);
  if (comma === -1 || !kind.startsWith('data:application/json')) return null;
  const body = url.slice(comma + 1);
  return kind.endsWith(';base64') ? Buffer.from(body, 'base64').toString('utf8') : decodeURIComponent(body);
}

/** A map may have an address that is no path on this machine. */
function pathOfAddress(address: string): string {
  try {
    return fileURLToPath(address);
  } catch {
    return address;
  }
}

function pathOfSource(source: string, folder: string): string {
  if (source.startsWith('file://')) return pathOfAddress(source);
  return /^[a-z][a-z0-9+.-]+:\/\//i.test(source) || isAbsolute(source) ? source : resolve(folder, source);
}

const isRooted = (source: string): boolean => isAbsolute(source) || /^[a-z][a-z0-9+.-]*:/i.test(source);

function rootedSources({ sources = [], sourceRoot = '' }: MapPayload): string[] {
  const base = sourceRoot === '' || sourceRoot.endsWith('/') ? sourceRoot : `${sourceRoot}/`;
  return sources.map(String).map((source) => (isRooted(source) ? source : `${base}${source}`));
}

/** Throws if it is not a map. */
function partsOf({ sections, ...map }: MapDocument, contents: Map<string, string>): MapPart[] {
  const parts = sections ?? [{ offset: { line: 0, column: 0 }, map }];
  return parts.map(({ offset, map: { mappings, sourcesContent, ...part } }) => {
    if (typeof mappings !== 'string' || !MAPPINGS.test(mappings))
      throw new SyntaxError('These are no mappings.');
    const sources = rootedSources(part);
    sources.forEach((name, index) => {
      const content = sourcesContent?.[index];
      if (typeof content === 'string') contents.set(name, content);
    });
    return { ...offset, find: readMappings(mappings), sources };
  });
}

/** The mapping of a place in the executed file, counted from 0; the source by its rooted name. */
function findIn(parts: readonly MapPart[], line: number, column: number) {
  const part = parts.findLast((one) => one.line < line || (one.line === line && one.column <= column));
  const place: MappedPlace | null =
    part?.find(line - part.line, line === part.line ? column - part.column : column) ?? null;
  const source = place === null ? undefined : part?.sources[place.source];
  return place === null || source === undefined ? null : { ...place, source };
}

export function createSourceMaps({ files }: { files: SourceFiles }) {
  const cache = new Map<string, ParsedMap>();

  /** The JSON of `url`, and its folder. */
  function mapOf(file: string, url: string): { json: string; folder: string } | null {
    if (url.startsWith('data:')) {
      const json = inlineMap(url);
      return json === null ? null : { json, folder: dirname(file) };
    }
    const path = pathOfSource(decodeURIComponent(url), dirname(file));
    const json = files.mapText(path);
    return json === null ? null : { json, folder: dirname(path) };
  }

  function parse(json: string): Pick<ParsedMap, 'parts' | 'contents'> {
    const contents = new Map<string, string>();
    try {
      const document = JSON.parse(json.replace(/^\)\]\}'[^\n]*\n/, '')) as MapDocument;
      return { parts: partsOf(document, contents), contents };
    } catch {
      return { parts: [], contents };
    }
  }

  /** A file is parsed again when its text has changed: a build that changes the map changes that too. */
  function parsedOf(file: string): ParsedMap | null {
    const text = files.text(file);
    if (text === null) return null;
    const known = cache.get(file);
    if (known?.text === text) return known;
    const url = mapUrlOf(text);
    const found = url === null ? null : mapOf(file, url);
    const folder = found?.folder ?? dirname(file);
    const { parts, contents } = parse(found?.json ?? '');
    const names = new Map(Array.from(contents.keys(), (name) => [pathOfSource(name, folder), name]));
    const parsed = { text, parts, contents, folder, names, lines: new Map<string, readonly string[]>() };
    cache.delete(file);
    cache.set(file, parsed);
    dropOldest(cache, CACHED_MAPS);
    return parsed;
  }

  function linesOf(map: ParsedMap, source: string, path: string): readonly string[] | null {
    const known = map.lines.get(source);
    if (known !== undefined) return known;
    const content = map.contents.get(source);
    if (content === undefined) return files.lines(path);
    const lines = content.split(/\r?\n/);
    map.lines.set(source, lines);
    return lines;
  }

  return {
    /** Lines of a source by its absolute path, from a map that was read before; null if none has them. */
    sourceLines(path: string): readonly string[] | null {
      for (const parsed of cache.values()) {
        const source = parsed.names.get(path);
        if (source !== undefined) return linesOf(parsed, source, path);
      }
      return null;
    },
    /** null if the file has no map, or the map does not cover the place. */
    original(file: string, line: number, column: number): OriginalPlace | null {
      if (!COMPILED.test(file)) return null;
      try {
        const parsed = parsedOf(file);
        const place = parsed === null ? null : findIn(parsed.parts, line - 1, Math.max(0, column - 1));
        // A map may contain anything.
        if (parsed === null || place === null || !(place.line >= 0 && Number.isSafeInteger(place.line)))
          return null;
        const { source } = place;
        const path = pathOfSource(source, parsed.folder);
        return {
          file: path,
          line: place.line + 1,
          column: place.column + 1,
          // Lazy: callers often need only the place.
          get lines() {
            return linesOf(parsed, source, path);
          },
        };
      } catch {
        return null;
      }
    },
  };
}

export type SourceMaps = ReturnType<typeof createSourceMaps>;
