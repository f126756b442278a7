/** Whose code a file is: one rule for callers, for places of registration, and for the frames of errors. */
import { realpathSync } from 'node:fs';
import { sep } from 'node:path';
import { filePathOf } from './stack-frames.ts';

/** Start an application that is not theirs, from a package all the same. */
const RUNNERS = new Set(
  '@nestjs/cli ava c8 jest jest-cli jest-worker mocha nodemon npm nyc pm2 tap tinypool ts-node tsx vitest'.split(
    ' ',
  ),
);
const IN_PACKAGE = /^(.*[\\/]node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+))(?=[\\/]|$)/s;
const MODULES = /(?:^|[\\/])node_modules[\\/]/;

export function packageOf(file: string): string | null {
  return IN_PACKAGE.exec(file)?.[2]?.replaceAll('\\', '/') ?? null;
}

export function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** The folder of the package that an application is started from: npx, a global install; null for any other. */
function startedPackage(main: string | undefined): string | null {
  const [, folder = null, name = ''] = IN_PACKAGE.exec(realPathOf(main ?? '')) ?? [];
  return RUNNERS.has(name.replaceAll('\\', '/')) ? null : folder;
}

/**
 * A file is the application's own outside of `node_modules`, or if the application itself lies inside. WebAssembly has neither file nor
 * lines, and nothing tells which package made it. `main`: the file that was started.
 */
export function createOwnCode(root: string, main = process.argv[1]): (file: string) => boolean {
  const started = startedPackage(main);
  const folders = [root, realPathOf(root), ...(started === null ? [] : [started])].map(
    (folder) => folder + sep,
  );
  return (file) => {
    if (file.startsWith('wasm:')) return false;
    if (!file.includes('node_modules')) return true;
    const path = filePathOf(file);
    return folders.some((folder) => path.startsWith(folder) && !MODULES.test(path.slice(folder.length)));
  };
}
