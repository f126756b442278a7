/**
 * A place in code that ran -> the place in the code that was written, through the map that the executed file names:
 * inline, or a `.map` file found by `source-files.ts` under its rules. Synchronous; parsed maps are cached by the text they
 * came from, and few are kept (a parsed map is many times its text). TypeScript run directly needs no map: its lines are right already.
 */
import { dirname, isAbsolute, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type RawSourceMap, SourceMapConsumer } from 'source-map-js';
import type { SourceFiles } from './source-files.ts';

export interface OriginalPlace {
  /** Absolute path, or the name that the map gives it where it is no path (`webpack://…`). */
  file: string;
  line: number;
  /** Counted from 1. */
  column: number;
  /** Lines of the source, out of the map or the file; null where neither has them. */
  lines: readonly string[] | null;
}

export interface SourceMaps {
  /** null where the file has no map, or the map no answer. */
  original(file: string, line: number, column: number): OriginalPlace | null;
}

interface ParsedMap {
  /** Of the file that ran. */
  text: string;
  /** null where it names no map, or one that can't be read. */
  consumer: SourceMapConsumer | null;
  /** Folder that sources are relative to. */
  folder: string;
  contents: Map<string, readonly string[] | null>;
}

const CACHED_MAPS = 60;
const COMPILED = /\.[cm]?js$/i;
const MARK = 'sourceMappingURL=';
/** Node and the TypeScript compiler write the comment at the end; nothing else is taken for one. */
const COMMENT = /^\/\/[#@] sourceMappingURL=(\S+)\s*$/;

/** What the file's last comment names; null where there is none. */
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

function pathOfSource(source: string, folder: string): string {
  if (source.startsWith('file://')) return fileURLToPath(source);
  return /^[a-z][a-z0-9+.-]+:\/\//i.test(source) || isAbsolute(source) ? source : resolve(folder, source);
}

export function createSourceMaps({ files }: { files: SourceFiles }): SourceMaps {
  const cache = new Map<string, ParsedMap>();

  /** The JSON that `url` stands for, and the folder it lies in. */
  function mapOf(file: string, url: string): { json: string; folder: string } | null {
    if (url.startsWith('data:')) {
      const json = inlineMap(url);
      return json === null ? null : { json, folder: dirname(file) };
    }
    const path = pathOfSource(decodeURIComponent(url), dirname(file));
    const json = files.mapText(path);
    return json === null ? null : { json, folder: dirname(path) };
  }

  function parse(json: string): SourceMapConsumer | null {
    try {
      return new SourceMapConsumer(JSON.parse(json.replace(/^\)\]\}'[^\n]*\n/, '')) as RawSourceMap);
    } catch {
      return null;
    }
  }

  /** A file is looked at anew when its text changed: a build that changes the map changes that too. */
  function consumerOf(file: string): ParsedMap | null {
    const text = files.text(file);
    if (text === null) return null;
    const known = cache.get(file);
    if (known?.text === text) return known;
    const url = mapUrlOf(text);
    const found = url === null ? null : mapOf(file, url);
    const parsed = {
      text,
      consumer: found === null ? null : parse(found.json),
      folder: found?.folder ?? dirname(file),
      contents: new Map<string, readonly string[] | null>(),
    };
    cache.delete(file);
    cache.set(file, parsed);
    const oldest = cache.keys().next();
    if (cache.size > CACHED_MAPS && oldest.done !== true) cache.delete(oldest.value);
    return parsed;
  }

  function linesOf(map: ParsedMap, source: string, path: string): readonly string[] | null {
    const known = map.contents.get(source);
    if (known !== undefined) return known;
    const content = map.consumer?.sourceContentFor(source, true) ?? null;
    if (content === null) return files.lines(path);
    const lines = content.split(/\r?\n/);
    map.contents.set(source, lines);
    return lines;
  }

  return {
    original(file, line, column) {
      if (!COMPILED.test(file)) return null;
      try {
        const map = consumerOf(file);
        const consumer = map?.consumer ?? null;
        if (map === null || consumer === null) return null;
        const place = consumer.originalPositionFor({ line, column: Math.max(0, column - 1) });
        // The type says otherwise, but a position without a mapping has null parts.
        const { source, line: sourceLine } = place as { source: string | null; line: number | null };
        if (source === null || sourceLine === null) return null;
        const path = pathOfSource(source, map.folder);
        return { file: path, line: sourceLine, column: place.column + 1, lines: linesOf(map, source, path) };
      } catch {
        return null;
      }
    },
  };
}
