/** The package's door as it is installed: what is measured is the build, not the sources. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rootFolder } from './folders.ts';

export async function builtDoor(): Promise<typeof import('../../app/index.ts')> {
  const address = pathToFileURL(join(rootFolder, 'dist', 'app', 'index.js')).href;
  return (await import(address)) as typeof import('../../app/index.ts');
}
