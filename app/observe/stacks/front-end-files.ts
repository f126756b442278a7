/**
 * A script that a browser ran -> the file on the project's disk that was served, and through its source map the place in the source. The
 * path of its address is looked up below the folders of the project, by the rules of source-files.ts; nothing is ever fetched.
 */
import { type Dirent, readdirSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import type { SourceFiles } from './source-files.ts';
import type { SourceMaps } from './source-maps.ts';
import { codeBefore, type LocateFrontEnd, type ServedScript } from '../../profiler/read/browser-report.ts';

/** Levels of folders below the project's. */
const DEEPEST = 3;
const MOST_FOLDERS = 400;
const FOLDERS_FOR_MS = 10_000;

interface Folder {
  path: string;
  names: ReadonlySet<string>;
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

function foldersBelow(root: string): Folder[] {
  const folders: Folder[] = [];
  let level = [root];
  for (let depth = 0; depth <= DEEPEST; depth++) {
    const below: string[] = [];
    for (const path of level.slice(0, MOST_FOLDERS - folders.length)) {
      const entries = entriesOf(path);
      folders.push({ path, names: new Set(entries.map(({ name }) => name)) });
      for (const entry of entries)
        if (entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'node_modules')
          below.push(join(path, entry.name));
    }
    level = below;
  }
  return folders;
}

function segmentsOf(path: string): string[] | null {
  try {
    const segments = path.split('/').filter(Boolean).map(decodeURIComponent);
    return segments.length > 0 && segments.every((name) => /^[^./\\:\0][^/\\:\0]*$/.test(name))
      ? segments
      : null;
  } catch {
    return null;
  }
}

export function createFrontEndFiles({
  root,
  files,
  maps,
}: {
  root: string;
  files: SourceFiles;
  maps: SourceMaps;
}): LocateFrontEnd {
  let folders: readonly Folder[] = [];
  let listedAt = -Infinity;

  function listFolders(): readonly Folder[] {
    const now = performance.now();
    if (now - listedAt > FOLDERS_FOR_MS) {
      listedAt = now;
      folders = foldersBelow(root);
    }
    return folders;
  }

  /** As `send`, below express.static, makes it. */
  function hasEtag(file: string, etag: string): boolean {
    const size = Buffer.byteLength(files.text(file) ?? '').toString(16);
    return etag.replace(/^W\//, '') === `"${size}-${Math.round(files.changedAt(file) ?? 0).toString(16)}"`;
  }

  /** With an ETag, a folder may be mounted below any path. Without one, a lone name may be a file of the server's. */
  function fileOf({ path, etag }: ServedScript): string | null {
    const segments = segmentsOf(path);
    if (segments === null) return null;
    for (let start = 0; start < (etag === null ? 1 : segments.length); start++) {
      const found = listFolders()
        .filter(({ path: folder, names }) => {
          const mayBe = segments.length > 1 || etag !== null || folder !== root;
          return mayBe && names.has(segments[start] ?? '');
        })
        .map((folder) => join(folder.path, ...segments.slice(start)))
        .filter((file) => files.text(file) !== null && (etag === null || hasEtag(file, etag)));
      const [first] = found;
      if (first !== undefined && found.every((file) => files.text(file) === files.text(first))) return first;
    }
    return null;
  }

  return (script, line, column) => {
    const file = fileOf(script);
    if (file === null) return null;
    const original = maps.original(file, line, column);
    const path = original?.file ?? file;
    const lines = original?.lines ?? (original === null ? files.lines(file) : null);
    const name = relative(root, path).split(sep).join('/');
    // A map may name a source of anywhere.
    const place = name.startsWith('..') || /^[a-z]+:/i.test(path) ? path.replace(/^.*:\/\/\/?/, '') : name;
    const at = original?.line ?? line;
    return { place: `${place}:${at}`, code: lines === null ? null : codeBefore(lines, at) };
  };
}
