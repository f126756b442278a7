/**
 * Where the package's own files lie, from sources as from `dist`. The only user of `import.meta.url` (by lint):
 * `dist/app` has no `views` beside it, so everything is found from the package's root.
 */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';

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

/** Goes with Node 20: Node.js 22.18 and later run TypeScript by themselves. */
function runsTypeScript(): boolean {
  return Boolean((process.features as { typescript?: unknown }).typescript);
}

/** A thread that runs a module under `app/`, from source as from `dist`. Its memory is bounded: it holds one batch at a time. */
export function startWorker(name: string, workerData: unknown): Worker {
  const url = moduleUrl(name);
  const options = {
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 2 },
  };
  if (url.pathname.endsWith('.js') || runsTypeScript()) return new Worker(url, options);
  // Goes with Node 20, where a thread does not inherit tsx from its process.
  const tsx = pathToFileURL(requirePackage.resolve('tsx/esm/api').replace(/cjs$/, 'mjs'));
  const [loader, module] = [tsx.href, url.href].map((text) => JSON.stringify(text));
  return new Worker(`import(${loader}).then((tsx) => (tsx.register(), import(${module})))`, {
    ...options,
    eval: true,
  });
}

/**
 * A package in CommonJS as `require` gives it. An `import` of one first looks for the names that it exports, which takes a fifth of
 * the time in which a service with Express starts.
 */
export const requirePackage: NodeJS.Require = createRequire(import.meta.url);

/** `version` of this package. */
export function packageVersion(): string {
  const manifest = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as {
    version: string;
  };
  return manifest.version;
}
