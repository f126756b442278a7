/**
 * The toolbar's one script. Written as modules in public/toolbar, joined when it is first asked for: their declarations one after
 * another, those that others import first, inside one function, so that a page gets no name of it.
 *
 * One file for each module would be a dozen requests on every page of the host. The build does the same and shortens the names in it;
 * what runs from its sources has no bundler that it could ask. What joining asks of the modules: named imports from `./<name>.js` on one line, exports only before
 * a declaration, no name declared twice, no text that goes over several lines.
 *
 * The styles come with it as the constant STYLE: toolbar.css, and of the pages' style sheet the colours and fonts that it uses.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { urls } from '../../urls.ts';
import type { Asset } from './assets.ts';

export interface ToolbarScript {
  /** With the hash of its content: what it names never changes. */
  url(): string;
  /** `sha256-…` as a policy and an `integrity` attribute have it. */
  integrity(): string;
  asset(): Asset;
  /** Of its content; the `v` of its address. */
  hash(): string;
}

const ENTRY = 'toolbar.js';
const IMPORT = /^import \{[^}]*\} from '\.\/([a-z-]+\.js)';\n/gm;
const EXPORT = /^export (?=(?:async )?function|const|let)/gm;
const HASH_LENGTH = 12;

/** Comments that stand on lines of their own, indentation and empty lines: a third of the text. */
function withoutRemarks(text: string): string {
  return text
    .replace(/^\s*\/\*[\s\S]*?\*\/\s*$/gm, '')
    .replace(/^\s*\/\/.*$/gm, '')
    .replace(/^\s+/gm, '');
}

function joinModules(folder: string): string {
  const done = new Map<string, string>();
  function add(file: string, above: readonly string[]): void {
    if (done.has(file)) return;
    if (above.includes(file)) throw new Error(`The toolbar's module "${file}" imports itself.`);
    const text = readFileSync(join(folder, file), 'utf8');
    for (const [, name = ''] of text.matchAll(IMPORT)) add(name, [...above, file]);
    done.set(file, withoutRemarks(text.replace(IMPORT, '').replace(EXPORT, '')));
  }
  add(ENTRY, []);
  return [...done.values()].join('');
}

/** `--name: value` of the first block of the pages' style sheet, by name. */
function tokensOf(sheet: string): Map<string, string> {
  const start = sheet.indexOf('{', sheet.indexOf(':root, :host')) + 1;
  const block = sheet.slice(start, sheet.indexOf('\n}', start));
  return new Map(
    Array.from(block.matchAll(/(--[\w-]+):\s*([^;]+);/g), ([, name = '', value = '']) => [name, value]),
  );
}

/** Those that a style sheet uses, and those that they use. */
function usedTokens(css: string, tokens: ReadonlyMap<string, string>): string {
  const used = new Map<string, string>();
  function look(text: string): void {
    for (const [, name = ''] of text.matchAll(/var\((--[\w-]+)/g)) {
      const value = tokens.get(name);
      if (value === undefined || used.has(name)) continue;
      used.set(name, value);
      look(value);
    }
  }
  look(css);
  return Array.from(used, ([name, value]) => `${name}:${value};`).join('');
}

/** The first rule of toolbar.css, `.root`, gets the colours: on an element inside, where no style of the page can change them. */
function joinStyles(css: string, sheet: string): string {
  const own = css.replace(/\/\*[\s\S]*?\*\//g, '');
  return `.root{${usedTokens(own, tokensOf(sheet))}}${own}`
    .replace(/\s+/g, ' ')
    .replace(/ ?([{}:;,>]) ?/g, '$1');
}

/** The whole script, readable. `root`: the folder of this package. */
export function joinToolbar(root: string): string {
  const folder = join(root, 'public', 'toolbar');
  const css = readFileSync(join(folder, 'toolbar.css'), 'utf8');
  const sheet = readFileSync(join(root, 'public', 'profiler', 'hindsight.css'), 'utf8');
  const style = `const STYLE = ${JSON.stringify(joinStyles(css, sheet))};\n`;
  return `(() => {\n'use strict';\n{\n${style}${joinModules(folder)}}\n})();\n`;
}

/** What the build made of it; null where it is run from the sources. */
function readBuilt(built: URL): Buffer | null {
  try {
    return built.pathname.endsWith('.js') ? readFileSync(built) : null;
  } catch {
    return null;
  }
}

interface Prepared {
  asset: Asset;
  hash: string;
  integrity: string;
}

function prepareScript(root: string, built: URL): Prepared {
  const body = readBuilt(built) ?? Buffer.from(joinToolbar(root));
  const digest = createHash('sha256').update(body);
  const integrity = `sha256-${digest.copy().digest('base64')}`;
  const hash = digest.digest('hex').slice(0, HASH_LENGTH);
  return { asset: { type: 'text/javascript; charset=UTF-8', body, etag: `"${hash}"` }, hash, integrity };
}

/** `root`: the folder of this package; `built`: where the build leaves the script. Nothing is read before one of these is called. */
export function createToolbarScript(root: string, built: URL): ToolbarScript {
  let prepared: Prepared | null = null;
  const get = (): Prepared => (prepared ??= prepareScript(root, built));
  return {
    url: () => urls.toolbarScript(get().hash),
    integrity: () => get().integrity,
    asset: () => get().asset,
    hash: () => get().hash,
  };
}
