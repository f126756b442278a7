/** The handler of a framework, as a file of a package has it. */
import type { RequestHandler } from 'express';
import { join } from 'node:path';
import { runInThisContext } from 'node:vm';
import { packageRoot } from '../../app/paths.ts';

export function inLibrary(code: string): RequestHandler {
  const filename = join(packageRoot(), 'node_modules/some-framework/handler.js');
  return runInThisContext(code, { filename }) as RequestHandler;
}
