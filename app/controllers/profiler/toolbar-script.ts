/** The modules of public/toolbar and their styles as one script. The build does the same and minifies. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { urls } from '../../urls.ts';
import type { Asset } from './assets.ts';
import { joinModules } from './join-modules.ts';

export interface ToolbarScript {
  /** With its content hash, so it never changes. */
  url(): string;
  asset(): Asset;
  /** Content hash; `v` in its address. */
  hash(): string;
}

const ENTRY = 'toolbar.js';
const HASH_LENGTH = 12;

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
  return joinModules(folder, ENTRY, style);
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
}

function prepareScript(root: string, built: URL): Prepared {
  const body = readBuilt(built) ?? Buffer.from(joinToolbar(root));
  const hash = createHash('sha256').update(body).digest('hex').slice(0, HASH_LENGTH);
  return { asset: { type: 'text/javascript; charset=UTF-8', body, etag: `"${hash}"` }, hash };
}

/** `root`: the folder of this package; `built`: the script as built. Reads nothing until first used. */
export function createToolbarScript(root: string, built: URL): ToolbarScript {
  let prepared: Prepared | null = null;
  const get = (): Prepared => (prepared ??= prepareScript(root, built));
  return {
    url: () => urls.toolbarScript(get().hash),
    asset: () => get().asset,
    hash: () => get().hash,
  };
}
