/**
 * Tests that need a part that is not everywhere (Chromium, nginx, a PostgreSQL server) skip where it is missing and say
 * so. With HINDSIGHT_REQUIRE_ALL=1 they fail instead: that is how a complete run is told from a lucky one.
 */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Full path of the first of `names` that is found on PATH or in `folders`; null where none is. */
export function findProgram(names: readonly string[], folders: readonly string[] = []): string | null {
  const searched = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin', ...folders];
  for (const name of names) {
    for (const folder of searched) {
      const path = join(folder, name);
      if (folder !== '' && existsSync(path)) return path;
    }
  }
  return null;
}

/** Skips the running test or suite, or fails it where every part is required. Call it from a hook or a test. */
export function skipOrFail(context: Mocha.Context, part: string): never {
  const sentence = `needs ${part}, which is not on this machine`;
  if (process.env.HINDSIGHT_REQUIRE_ALL === '1') throw new Error(`This test ${sentence}.`);
  process.stderr.write(`    skipped: ${sentence}\n`);
  return context.skip();
}
