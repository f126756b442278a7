/**
 * Styles and scripts in memory, served as `<name>.<hash>.<ext>`. A request looks a name up in this list and never reaches the file system.
 * The build has made them (bin/assets.cjs); from source, scripts are bundled when they are first used.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { isBuilt, packageRoot, requirePackage } from '../../paths.ts';
import { urls } from '../../urls.ts';

export interface Asset {
  type: string;
  body: Buffer;
  etag: string;
}

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=UTF-8',
  '.js': 'text/javascript; charset=UTF-8',
  '.svg': 'image/svg+xml',
};
const FILES: Readonly<Record<string, string>> = {
  'hindsight.css': 'profiler/hindsight.css',
  'hindsight.js': 'profiler/hindsight.js',
  'icons.svg': 'profiler/icons.svg',
  'toolbar.js': 'toolbar/toolbar.js',
};
const HASH_LENGTH = 12;
const HASHED_NAME = /^(.+)\.([0-9a-f]{12})(\.[a-z]+)$/;

interface Entry {
  asset: Asset;
  hash: string;
}

/** Bundles made from source, by path: the same for all profilers of this process. */
const bundles = new Map<string, Buffer>();

function fromSource(root: string, path: string): Buffer {
  if (!path.endsWith('.js')) return readFileSync(join(root, 'public', path));
  const { bundleScript } = requirePackage(join(root, 'bin', 'assets.cjs')) as {
    bundleScript(path: string, options: { minify: boolean }): string;
  };
  const bundle = bundles.get(path) ?? Buffer.from(bundleScript(path, { minify: false }));
  bundles.set(path, bundle);
  return bundle;
}

export function createAssets() {
  const entries = new Map<string, Entry>();

  function read(file: string): Entry {
    const cached = entries.get(file);
    if (cached !== undefined) return cached;
    const path = Object.hasOwn(FILES, file) ? FILES[file] : undefined;
    if (path === undefined) throw new Error(`The asset "${file}" is missing.`);
    const root = packageRoot();
    const body = isBuilt() ? readFileSync(join(root, 'dist', 'public', file)) : fromSource(root, path);
    const hash = createHash('sha256').update(body).digest('hex').slice(0, HASH_LENGTH);
    const entry = { asset: { type: TYPES[extname(file)] ?? '', body, etag: `"${hash}"` }, hash };
    entries.set(file, entry);
    return entry;
  }

  // The package may be installed again, or its build replaced, while the process runs.
  if (isBuilt()) for (const file of Object.keys(FILES)) read(file);

  return {
    url(file: string): string {
      const extension = extname(file);
      return urls.asset(`${file.slice(0, -extension.length)}.${read(file).hash}${extension}`);
    },
    get(name: string): Asset | undefined {
      const [, stem = '', hash, extension = ''] = HASHED_NAME.exec(name) ?? [];
      const file = `${stem}${extension}`;
      if (!Object.hasOwn(FILES, file)) return undefined;
      const entry = read(file);
      return entry.hash === hash ? entry.asset : undefined;
    },
    plain: (file: string): Asset => read(file).asset,
    hash: (file: string): string => read(file).hash,
  };
}

export type Assets = ReturnType<typeof createAssets>;
