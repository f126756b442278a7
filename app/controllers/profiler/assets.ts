/**
 * The files of public/profiler by hashed name, in memory. The table is made at first use and never again: a request
 * names an entry of the table, never a path, so that no address reaches the file system.
 *
 * `hindsight.css` is served as `hindsight.<hash>.css`. Modules import each other by plain name; as those names are hashed
 * too, the import is rewritten when the table is made (an import map would need an inline script).
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

interface Table {
  byHash: Map<string, Asset>;
  hashedNames: Map<string, string>;
}

function readTable(folder: string): Table {
  const files = new Set(readdirSync(folder).filter((file) => extname(file) in TYPES));
  const table: Table = { byHash: new Map(), hashedNames: new Map() };

  function add(file: string, above: readonly string[]): string {
    const known = table.hashedNames.get(file);
    if (known !== undefined) return known;
    if (!files.has(file) || above.includes(file))
      throw new Error(`The asset "${file}" is missing, or imports itself.`);
    const text = readFileSync(join(folder, file), 'utf8').replace(
      IMPORT,
      (_all, head: string, name: string) => `${head}'./${add(name, [...above, file])}'`,
    );
    const body = Buffer.from(text);
    const hash = createHash('sha256').update(body).digest('hex').slice(0, HASH_LENGTH);
    const ending = extname(file);
    const hashedName = `${file.slice(0, -ending.length)}.${hash}${ending}`;
    table.hashedNames.set(file, hashedName);
    table.byHash.set(hashedName, { type: TYPES[ending] ?? '', body, etag: `"${hash}"` });
    return hashedName;
  }

  for (const file of files) add(file, []);
  return table;
}

export function createAssets(folder: string): Assets {
  let table: Table | null = null;
  const get = (): Table => (table ??= readTable(folder));

  function hashedName(file: string): string {
    const name = get().hashedNames.get(file);
    if (name === undefined) throw new Error(`There is no asset "${file}".`);
    return name;
  }

  return {
    url: (file) => urls.asset(hashedName(file)),
    get: (name) => get().byHash.get(name),
    plain(file) {
      const asset = get().byHash.get(hashedName(file));
      if (asset === undefined) throw new Error(`There is no asset "${file}".`);
      return asset;
    },
  };
}
