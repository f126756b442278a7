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

let listener = null;

/** `listen(name, script, text)` is called for each script that is run from now on; the build keeps them. */
export function onRun(listen) {
  listener = listen;
}

/** Of the parts, and of the Node that makes it. */
export function digestOf(...parts) {
  const hash = createHash('sha256').update(MADE_BY);
  for (const part of parts) hash.update(part);
  return hash.digest();
}

function fileOf(name) {
  return new URL(`../code/${name}`, import.meta.url);
}

/** What V8 made of the script, and before it a digest of both. */
export function pack(text, code) {
  return Buffer.concat([digestOf(text, code), code]);
}

function readKept(name, text) {
  try {
    const packed = readFileSync(fileOf(name));
    const code = packed.subarray(DIGEST_BYTES);
    return digestOf(text, code).equals(packed.subarray(0, DIGEST_BYTES)) ? code : undefined;
  } catch {
    return undefined;
  }
}

/** The function that the script of the module `name` is. */
export function run(name) {
  const url = new URL(`${name}.code.js`, import.meta.url);
  const text = readFileSync(url);
  const script = new Script(text.toString(), { filename: url.href, cachedData: readKept(name, text) });
  listener?.(name, script, text);
  return script.runInThisContext();
}
