/**
 * The files of public/profiler by hashed name, in memory. Which there are is read once, and each file when it is first asked for,
 * never again: a request names one of these files, never a path, so that no address reaches the file system.
 *
 * `hindsight.css` is served as `hindsight.<hash>.css`. Modules import each other by plain name; as those names are hashed
 * too, the import is rewritten when the file is read (an import map would need an inline script).
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { urls } from '../../urls.ts';

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
  '.svg': 'image/svg+xml',
};
const IMPORT = /(from\s*|import\s*)'\.\/([a-z0-9-]+\.js)'/g;
const HASH_LENGTH = 12;

interface Entry {
  asset: Asset;
  hashedName: string;
}

/** `hindsight.0123456789ab.css`: name, hash, ending. */
const HASHED_NAME = /^(.+)\.([0-9a-f]{12})(\.[a-z]+)$/;

export function createAssets(folder: string): Assets {
  const entries = new Map<string, Entry>();
  let files: ReadonlySet<string> | null = null;

  function knows(file: string): boolean {
    files ??= new Set(readdirSync(folder).filter((name) => extname(name) in TYPES));
    return files.has(file);
  }

  function read(file: string, above: readonly string[]): Entry {
    const known = entries.get(file);
    if (known !== undefined) return known;
    if (!knows(file) || above.includes(file))
      throw new Error(`The asset "${file}" is missing, or imports itself.`);
    const text = readFileSync(join(folder, file), 'utf8').replace(
      IMPORT,
      (_all, head: string, name: string) => `${head}'./${read(name, [...above, file]).hashedName}'`,
    );
    const body = Buffer.from(text);
    const hash = createHash('sha256').update(body).digest('hex').slice(0, HASH_LENGTH);
    const ending = extname(file);
    const entry = {
      asset: { type: TYPES[ending] ?? '', body, etag: `"${hash}"` },
      hashedName: `${file.slice(0, -ending.length)}.${hash}${ending}`,
    };
    entries.set(file, entry);
    return entry;
  }

  return {
    url: (file) => urls.asset(read(file, []).hashedName),
    get(name) {
      const [, stem = '', , ending = ''] = HASHED_NAME.exec(name) ?? [];
      if (!knows(`${stem}${ending}`)) return undefined;
      const { asset, hashedName } = read(`${stem}${ending}`, []);
      return hashedName === name ? asset : undefined;
    },
    plain: (file) => read(file, []).asset,
  };
}
