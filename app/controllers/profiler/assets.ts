/**
 * The files of public/profiler in memory, served as `<name>.<hash>.<ext>`. A request looks a name up in this list and never
 * reaches the file system. A script is served with the modules that it imports.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { urls } from '../../urls.ts';
import { joinModules } from './join-modules.ts';

export interface Asset {
  type: string;
  body: Buffer;
  etag: string;
}

export interface Assets {
  /** Address of a file by its plain name. */
  url(file: string): string;
  /** An entry by its hashed name. */
  get(hashedName: string): Asset | undefined;
  /** An entry by its plain name. */
  plain(file: string): Asset;
}

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=UTF-8',
  '.js': 'text/javascript; charset=UTF-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
};
const HASH_LENGTH = 12;

interface Entry {
  asset: Asset;
  hashedName: string;
}

/** `hindsight.0123456789ab.css`: name, hash, extension. */
const HASHED_NAME = /^(.+)\.([0-9a-f]{12})(\.[a-z]+)$/;

export function createAssets(folder: string): Assets {
  const entries = new Map<string, Entry>();
  let files: ReadonlySet<string> | null = null;

  function knows(file: string): boolean {
    files ??= new Set(readdirSync(folder).filter((name) => extname(name) in TYPES));
    return files.has(file);
  }

  function read(file: string): Entry {
    const cached = entries.get(file);
    if (cached !== undefined) return cached;
    if (!knows(file)) throw new Error(`The asset "${file}" is missing.`);
    const extension = extname(file);
    const body =
      extension === '.js' ? Buffer.from(joinModules(folder, file)) : readFileSync(join(folder, file));
    const hash = createHash('sha256').update(body).digest('hex').slice(0, HASH_LENGTH);
    const entry = {
      asset: { type: TYPES[extension] ?? '', body, etag: `"${hash}"` },
      hashedName: `${file.slice(0, -extension.length)}.${hash}${extension}`,
    };
    entries.set(file, entry);
    return entry;
  }

  return {
    url: (file) => urls.asset(read(file).hashedName),
    get(name) {
      const [, stem = '', , extension = ''] = HASHED_NAME.exec(name) ?? [];
      if (!knows(`${stem}${extension}`)) return undefined;
      const { asset, hashedName } = read(`${stem}${extension}`);
      return hashedName === name ? asset : undefined;
    },
    plain: (file) => read(file).asset,
  };
}
