/**
 * Runs the script of a joined module with what V8 made of it when it was built; lies in the build as `hindsight-run.js`.
 *
 * What was kept was made of this script, byte for byte, by this Node.js, or is left alone: V8 itself looks at a length and at
 * its own version. Without it, or where V8 refuses it, the script is compiled as any other.
 */
const { createHash } = process.getBuiltinModule('node:crypto');
const { readFileSync } = process.getBuiltinModule('node:fs');
const { Script } = process.getBuiltinModule('node:vm');

const DIGEST_BYTES = 32;
const MADE_BY = `${process.version} ${process.platform} ${process.arch}\n`;

let home = import.meta.url;
let listener = null;

/**
 * `listen(name, script, packed)` is called for each script that is run from now on, where `packed()` makes what is to be kept of it.
 * The build keeps them, for scripts that will lie in another folder: `folder`, a URL with a slash at its end.
 */
export function onRun(listen, folder = home) {
  listener = listen;
  home = folder;
}

/** Of the parts, and of the Node that makes it. */
function digestOf(...parts) {
  const hash = createHash('sha256').update(MADE_BY);
  for (const part of parts) hash.update(part);
  return hash.digest();
}

function fileOf(name) {
  return new URL(`../code/${name}`, import.meta.url);
}

/** What V8 made of the script, and before it a digest of all. The name of the script is part of what V8 made. */
export function pack(filename, text, code) {
  return Buffer.concat([digestOf(filename, text, code), code]);
}

function readKept(name, filename, text) {
  try {
    const packed = readFileSync(fileOf(name));
    const code = packed.subarray(DIGEST_BYTES);
    return digestOf(filename, text, code).equals(packed.subarray(0, DIGEST_BYTES)) ? code : undefined;
  } catch {
    return undefined;
  }
}

/** The function that the script of the module `name` is. */
export function run(name) {
  const text = readFileSync(new URL(`${name}.code.js`, import.meta.url));
  const filename = new URL(`${name}.code.js`, home).href;
  const script = new Script(text.toString(), { filename, cachedData: readKept(name, filename, text) });
  listener?.(name, script, () => pack(filename, text, script.createCachedData()));
  return script.runInThisContext();
}
