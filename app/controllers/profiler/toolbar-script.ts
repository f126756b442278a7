/**
 * Joins the modules of public/toolbar and their styles into one script: separate files would be a dozen requests per page. The
 * build does the same and minifies. Modules must use one-line named imports, unique names and no multi-line strings.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { urls } from '../../urls.ts';
import type { Asset } from './assets.ts';

export interface ToolbarScript {
  /** With its content hash, so it never changes. */
  url(): string;
  /** `sha256-…`, for a policy or an `integrity` attribute. */
  integrity(): string;
  asset(): Asset;
  /** Content hash; `v` in its address. */
  hash(): string;
}

const ENTRY = 'toolbar.js';
const IMPORT = /^import \{[^}]*\} from '\.\/([a-z-]+\.js)';\n/gm;
const EXPORT = /^export (?=(?:async )?function|const|let)/gm;
const HASH_LENGTH = 12;

/** Removes comment lines, indentation and empty lines: a third of the text. */
function withoutComments(text: string): string {
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
    done.set(file, withoutComments(text.replace(IMPORT, '').replace(EXPORT, '')));
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

/** The custom properties that a style sheet uses, directly or through others. */
function usedTokens(css: string, tokens: ReadonlyMap<string, string>): string {
  const used = new Map<string, string>();
  function collect(text: string): void {
    for (const [, name = ''] of text.matchAll(/var\((--[\w-]+)/g)) {
      const value = tokens.get(name);
      if (value === undefined || used.has(name)) continue;
      used.set(name, value);
      collect(value);
    }
  }
  collect(css);
  return Array.from(used, ([name, value]) => `${name}:${value};`).join('');
}

/** Colours go on `.root`, an element inside the shadow root, where the page's styles can't change them. */
function joinStyles(css: string, sheet: string): string {
  const rules = css.replace(/\/\*[\s\S]*?\*\//g, '');
  return `.root{${usedTokens(rules, tokensOf(sheet))}}${rules}`
    .replace(/\s+/g, ' ')
    .replace(/ ?([{}:;,>]) ?/g, '$1');
}

/** The whole script, not minified. `root`: the folder of this package. */
export function joinToolbar(root: string): string {
  const folder = join(root, 'public', 'toolbar');
  const css = readFileSync(join(folder, 'toolbar.css'), 'utf8');
  const sheet = readFileSync(join(root, 'public', 'profiler', 'hindsight.css'), 'utf8');
  const style = `const STYLE = ${JSON.stringify(joinStyles(css, sheet))};\n`;
  return `(() => {\n'use strict';\n{\n${style}${joinModules(folder)}}\n})();\n`;
}

/** The built script; null when running from sources. */
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

/** `root`: the folder of this package; `built`: the script as built. Reads nothing until first used. */
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
