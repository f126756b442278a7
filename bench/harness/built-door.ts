/** The package's door as it is installed: what is measured is the build, not the sources. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as door from '../../app/index.ts';
import { rootFolder } from './folders.ts';

export async function builtDoor(): Promise<typeof door> {
  const address = pathToFileURL(join(rootFolder, 'dist', 'app', 'index.js')).href;
  return (await import(address)) as typeof door;
}
