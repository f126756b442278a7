/** `dist` as new as the sources, with its types: built once a run, so that no test builds it under the feet of another. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type Part, sharedPart } from './shared-part.ts';

/** For run.ts. */
export async function makeBuild(): Promise<Part> {
  await promisify(execFile)(process.execPath, ['bin/build.js', '--if-stale']);
  return { value: null };
}

/** Registers a hook for the current `describe`. */
export function withBuild(): void {
  before(() => sharedPart('build'));
}
