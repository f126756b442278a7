/**
 * Where the package's own files lie, from sources as from `dist`. The only user of `import.meta.url` (by lint):
 * `dist/app` has no `views` beside it, so everything is found from the package's root.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder that holds this package's package.json. */
export function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder);
    if (parent === folder)
      throw new Error('The package of express-hindsight has no package.json above its code.');
    folder = parent;
  }
  return folder;
}

/** `name` of a module under `app/` without ending, resolved beside the running code (.ts from source, .js in dist). */
export function moduleUrl(name: string): URL {
  const ending = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
  return new URL(`./${name}${ending}`, import.meta.url);
}

/** `version` of this package. */
export function packageVersion(): string {
  const manifest = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as {
    version: string;
  };
  return manifest.version;
}
