/**
 * Joins the built modules that start together into a few files: opening two hundred takes longer than running them. What lies in
 * sub-folders stays beside them as the compiler wrote it, for an owner's routes and tools.
 *
 * `app` is the built folder. Nothing is joined where esbuild, or its program for this machine, is not installed: what the
 * compiler wrote runs as it is.
 */
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** What is started, imported from outside, or shared with an owner's routes, which must see the same classes. */
const ENTRIES = ['index', 'service', 'server', 'migrate', 'errors', 'urls', 'storage/writer-thread'];

/** Begins the name of each file that is made; by it the profiler knows its own frames in a stack. */
const PREFIX = 'hindsight-';

async function loadBundler() {
  try {
    return await import('esbuild');
  } catch {
    return null;
  }
}

/** False where there is no bundler. Throws where bundling fails. */
export async function bundle(app) {
  const bundler = await loadBundler();
  if (bundler === null) return false;
  const plain = `${app}-plain`;
  cpSync(app, plain, { recursive: true });
  try {
    await bundler.build({
      absWorkingDir: plain,
      entryPoints: ENTRIES.map((name) => join(plain, `${name}.js`)),
      outbase: plain,
      outdir: app,
      chunkNames: `${PREFIX}[hash]`,
      bundle: true,
      splitting: true,
      format: 'esm',
      platform: 'node',
      target: 'node20.19',
      packages: 'external',
      // The owner's: frames of it are named by its own file.
      external: ['./routes/index.js'],
      sourcemap: true,
      sourcesContent: false,
      logLevel: 'silent',
    });
    return true;
  } finally {
    rmSync(plain, { recursive: true, force: true });
  }
}
