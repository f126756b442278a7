/**
 * Joins the built modules that start together into a few files: opening two hundred takes longer than running them. What lies in
 * sub-folders stays beside them as the compiler wrote it, for an owner's routes and tools.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** What is started, imported from outside, or shared with an owner's routes, which must see the same classes. */
const ENTRIES = ['index', 'service', 'server', 'migrate', 'errors', 'urls', 'storage/postgres-thread'];

/** `app` is the built folder. Where esbuild, or its program for this machine, is missing, what the compiler wrote runs as it is. */
export async function bundle(app, root) {
  const bundler = await import('esbuild').catch(() => null);
  if (bundler === null) return;
  await bundler.build({
    absWorkingDir: app,
    entryPoints: ENTRIES.map((name) => `${name}.js`),
    outdir: app,
    outbase: app,
    allowOverwrite: true,
    // By this prefix the profiler knows its own frames in a stack.
    chunkNames: 'hindsight-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    minifyWhitespace: true,
    // Short enough to be shown where something uncaught ends the process.
    lineLimit: 160,
    packages: 'external',
    // The owner's: frames of it are named by its own file.
    external: ['./routes/index.js'],
    sourcemap: true,
    sourcesContent: false,
    logLevel: 'silent',
  });
  await shortenToolbar(bundler, app, root);
}

/** Writes the toolbar's script with short names, because every page of a host loads it. Without it the script is joined when it is asked for. */
async function shortenToolbar(bundler, app, root) {
  const module = join(app, 'controllers', 'profiler', 'toolbar-script.js');
  const { joinToolbar } = await import(pathToFileURL(module).href);
  const { code } = await bundler.transform(joinToolbar(root), {
    minify: true,
    target: 'es2022',
    charset: 'utf8',
    legalComments: 'none',
  });
  writeFileSync(join(app, 'toolbar.js'), code);
}
