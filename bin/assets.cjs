/**
 * The assets for browsers, made from `public`: by the build, and by a profiler that runs from source. CommonJS, so that the latter can load it
 * when an asset is first used.
 */
const { readFileSync } = require('node:fs');
const { join } = require('node:path');

const root = join(__dirname, '..');

/** Sent without esbuild, which is a development dependency: pages work without a script. */
const NOT_BUNDLED =
  "console.warn('Hindsight has no toolbar and no script on its pages: esbuild is not installed, run npm ci --include=dev.');\n";

function loadEsbuild() {
  try {
    return require('esbuild');
  } catch {
    return null;
  }
}

/** A style sheet without comments and spaces; unchanged without esbuild. */
function minify(css) {
  return loadEsbuild()?.transformSync(css, { loader: 'css', minify: true }).code ?? css;
}

/** `file`: its path below public. */
function minifyStyles(file) {
  return minify(readFileSync(join(root, 'public', file), 'utf8'));
}

/** The toolbar's styles, with the colours and fonts of the pages on an element that no rule of the application can name. */
function toolbarStyles() {
  const pages = readFileSync(join(root, 'public/profiler/hindsight.css'), 'utf8');
  const [, tokens] = /:root, :host (\{[^}]*\})/.exec(pages);
  return minify(`.root${tokens}${readFileSync(join(root, 'public/toolbar/toolbar.css'), 'utf8')}`);
}

/** A script with the modules that it imports. The toolbar's styles replace the name STYLE. */
function bundleScript(file, { minify }) {
  const esbuild = loadEsbuild();
  if (esbuild === null) return NOT_BUNDLED;
  const { outputFiles } = esbuild.buildSync({
    entryPoints: [join(root, 'public', file)],
    bundle: true,
    write: false,
    format: 'iife',
    target: 'es2022',
    charset: 'utf8',
    legalComments: 'none',
    define: { STYLE: JSON.stringify(toolbarStyles()) },
    minify,
  });
  return outputFiles[0].text;
}

module.exports = { bundleScript, minifyStyles };
