/**
 * Bundles the built modules into a few files, because opening two hundred files takes longer than running them. The compiler's output
 * in subfolders stays beside them, for an owner's routes and tools.
 */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { bundleScript, minifyStyles } from './assets.cjs';

/** Modules that are started, imported by a service, or shared with its owner's routes, which must get the same classes. */
const ENTRIES = ['service', 'server', 'migrate', 'cli', 'errors', 'urls'];
/** Modules that an application imports or requires. */
const HOST_ENTRIES = ['index', 'testing'];

/** Globals of Node.js, whatever an application has in their place. */
const NODE_GLOBALS = {
  inject: [join(import.meta.dirname, 'node-globals.js')],
  alias: { 'node:timers/promises': join(import.meta.dirname, 'real-sleep.js') },
};

/** `app` is the built folder. Without esbuild, or its binary for this machine, the compiler's output runs unbundled. */
export async function bundle(app, root) {
  bundleAssets(app, root);
  const bundler = await import('esbuild').catch(() => null);
  if (bundler === null) return;
  await bundleMcpSdk(bundler, dirname(app), root);
  // First, because the other bundle overwrites the files that this one reads.
  await bundleForHosts(bundler, app);
  dropOtherTypes(app, [...HOST_ENTRIES, 'service']);
  await bundler.build({
    absWorkingDir: app,
    entryPoints: ENTRIES.map((name) => `${name}.js`),
    outdir: app,
    outbase: app,
    allowOverwrite: true,
    // The profiler recognises its own stack frames by this prefix.
    chunkNames: 'hindsight-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    minifyWhitespace: true,
    // Node prints the source line of an uncaught error: keep it short.
    lineLimit: 160,
    packages: 'external',
    ...NODE_GLOBALS,
    // The owner's code: its stack frames must name its own file.
    external: ['./routes/index.js'],
    sourcemap: true,
    sourcesContent: false,
    logLevel: 'silent',
  });
}

/** The URL of this file, in place of `import.meta.url`. In a bundle of ES modules that contains it, it has no name. */
const HERE = `const hindsightUrl = typeof __filename === 'string' ? require('node:url').pathToFileURL(__filename).href : undefined,
hindsightImport = (url) => import(url);`;

const ALL_FOR_HOSTS = `
export * from './index.js';
export { default } from './index.js';
export { createAutoProfiler } from './compose/auto-profiler.js';
`;

async function exportsOf(bundler, app, name) {
  const { metafile } = await bundler.build({
    absWorkingDir: app, entryPoints: [`${name}.js`], write: false, outdir: app, metafile: true,
  }); // prettier-ignore
  return Object.values(metafile.outputs).flatMap((output) => output.exports);
}

/** Omits the export that only register.js needs. */
function commonJsDoor(names) {
  // By name, for those who read the names without running the file.
  const lines = names.map((name) => `module.exports.${name} = door.${name};`);
  return `const door = require('./hindsight-profiler.js');
// A CommonJS bundle of ES modules takes all of it for the default export.
module.exports = door.default;
Object.defineProperty(module.exports, '__esModule', { value: true });
${lines.join('\n')}
`;
}

/** What esbuild has no option for. */
function finish(file) {
  const text = readFileSync(file, 'utf8');
  const escape = (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  const finished = text
    // A bundle of ES modules that contains this file has no `require`.
    .replace(/\brequire\("(node:[^"]+)"\)/g, 'process.getBuiltinModule("$1")')
    // An application may have given a field to all objects, which esbuild takes for an export.
    .replace(/for\(var name in\s+all\)/g, 'for(var name of Object.keys(all))')
    // Rollup indents the lines of a string that `lineLimit` has cut.
    .replace(/(?<!\\)((?:\\\\)*)\\\n/g, '$1')
    // V8 takes two bytes for each character of a text that has one beyond Latin-1; esbuild leaves these in regular expressions.
    .replace(/[^\0-\x7f]/g, escape);
  writeFileSync(file, finished);
}

/**
 * What a host loads, in one file of CommonJS: Jest can't load ES modules, and Node.js starts one file sooner than many. An `import` gets
 * the same code, so a process never has two profilers.
 */
async function bundleForHosts(bundler, app) {
  const folder = join(dirname(app), 'cjs');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }\n');
  const common = {
    absWorkingDir: app,
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node20.19',
    minifyWhitespace: true,
    lineLimit: 160,
    ...NODE_GLOBALS,
    // The package's other dependencies are ES modules and are bundled.
    external: ['pg'],
    legalComments: 'eof',
    // Turns `import()` into `require`; the banner has the one that stays.
    supported: { 'dynamic-import': false },
    define: { 'import.meta.url': 'hindsightUrl' },
    banner: { js: HERE },
    logLevel: 'silent',
  };
  async function make(name, entry) {
    const outfile = join(folder, `${name}.js`);
    await bundler.build({ ...common, ...entry, outfile });
    finish(outfile);
  }
  // The profiler recognises its own stack frames by this prefix, here too.
  await make('hindsight-profiler', { stdin: { contents: ALL_FOR_HOSTS, resolveDir: app } });
  for (const name of ['register', 'testing']) await make(name, { entryPoints: [`${name}.js`] });
  copyTypes(app, folder, [...HOST_ENTRIES, 'register']);
  for (const name of HOST_ENTRIES) {
    const names = await exportsOf(bundler, app, name);
    if (name === 'index') writeFileSync(join(folder, 'index.js'), commonJsDoor(names));
    writeFileSync(join(app, `${name}.js`), `export { ${names.join(', ')} } from '../cjs/${name}.js';\n`);
    rmSync(join(app, `${name}.js.map`));
  }
}

const MCP_SDK = `
export { McpServer, ProtocolError, createMcpHandler, fromJsonSchema } from '@modelcontextprotocol/server';
export { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
`;

/** The protocol of coding agents, so that no application installs it; its licences and the list of its packages lie beside it. */
async function bundleMcpSdk(bundler, folder, root) {
  const { metafile } = await bundler.build({
    absWorkingDir: root,
    stdin: { contents: MCP_SDK, resolveDir: root },
    outfile: join(folder, 'mcp-sdk.cjs'),
    bundle: true,
    minify: true,
    format: 'cjs',
    platform: 'node',
    target: 'node20.19',
    legalComments: 'none',
    metafile: true,
    logLevel: 'silent',
  });
  const packages = new Set(
    Object.keys(metafile.inputs).flatMap(
      (input) => /^node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0] ?? [],
    ),
  );
  const licences = [...packages].sort().map((path) => {
    const { name, version } = JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8'));
    return `${name} ${version}\n\n${readFileSync(join(root, path, 'LICENSE'), 'utf8').trim()}\n`;
  });
  writeFileSync(join(folder, 'mcp-sdk.LICENSES'), licences.join(`\n${'-'.repeat(80)}\n\n`));
}

/** The types of these entry points, and those that they import: paths below `app`, without their ending. */
function typesOf(app, names) {
  const found = new Set();
  const follow = (path) => {
    const file = join(app, `${path}.d.ts`);
    if (found.has(path) || !existsSync(file)) return;
    found.add(path);
    for (const [, other] of readFileSync(file, 'utf8').matchAll(/['"](\.\.?\/[^'"]+)\.[jt]s['"]/g))
      follow(posix.join(posix.dirname(path), other));
  };
  names.forEach(follow);
  return found;
}

function copyTypes(app, folder, names) {
  for (const path of typesOf(app, names)) {
    const to = join(folder, `${path}.d.ts`);
    mkdirSync(dirname(to), { recursive: true });
    copyFileSync(join(app, `${path}.d.ts`), to);
  }
}

/** Deletes types that nobody can import: they are half of the files of the package. */
function dropOtherTypes(app, names) {
  const kept = typesOf(app, names);
  for (const file of readdirSync(app, { recursive: true, encoding: 'utf8' })) {
    const path = file.replaceAll('\\', '/');
    if (path.endsWith('.d.ts') && !kept.has(path.slice(0, -'.d.ts'.length))) rmSync(join(app, file));
  }
}

/** Writes the assets for browsers, beside `app`. */
function bundleAssets(app, root) {
  const folder = join(dirname(app), 'public');
  mkdirSync(folder);
  writeFileSync(join(folder, 'hindsight.js'), bundleScript('profiler/hindsight.js', { minify: true }));
  writeFileSync(join(folder, 'toolbar.js'), bundleScript('toolbar/toolbar.js', { minify: true }));
  writeFileSync(join(folder, 'hindsight.css'), minifyStyles('profiler/hindsight.css'));
  copyFileSync(join(root, 'public', 'profiler', 'icons.svg'), join(folder, 'icons.svg'));
}
