/** What axe-core finds wrong with a page. A run costs half a second of the processor: nothing is asked of a page twice. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';

interface Violation {
  id: string;
  nodes: { html: string }[];
}

/** The small form of it: every document loads it anew. */
const SOURCE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** The rules of axe-core, of those that it asks by itself, whose answer depends on colours. */
const COLOURS = ['color-contrast', 'link-in-text-block'];

/** Which rules are run. Default: all that axe-core runs by itself. */
const RULES = {
  colours: { runOnly: { type: 'rule', values: COLOURS } },
  structure: { rules: Object.fromEntries(COLOURS.map((name) => [name, { enabled: false }])) },
};

interface Asked {
  /** `colours`: of a page that has been asked the rest in other colours. `structure`: of one whose colours have been asked with other text. */
  only?: 'colours' | 'structure';
  /** Selector of a part; what lies around it has been asked on another page. Default: all. */
  within?: string;
}

/** Pages whose documents begin with it: V8 has compiled that text before, but not one that is sent, which costs a third of a run. */
const prepared = new WeakSet<Page>();

async function prepare(page: Page): Promise<void> {
  if (prepared.has(page)) return;
  prepared.add(page);
  await page.addInitScript({ content: SOURCE });
  await page.evaluate(SOURCE);
}

/** One sentence each. */
export async function violations(page: Page, { only, within }: Asked = {}): Promise<string[]> {
  await prepare(page);
  // Only a rule that is off by default reads the text of style sheets; to load and parse it was a third of a run or more.
  const options = JSON.stringify({
    resultTypes: ['violations'],
    preload: { assets: ['media'] },
    ...(only !== undefined && RULES[only]),
  });
  const found = await page.evaluate<Violation[]>(
    `axe.run(${within === undefined ? 'document' : JSON.stringify(within)}, ${options}).then((result) => result.violations)`,
  );
  return found.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 140)}`));
}

/** All rules in light, those of colours in dark. Leaves the page dark. */
export async function violationsInBothThemes(
  page: Page,
  asked: Pick<Asked, 'within'> = {},
): Promise<string[]> {
  await page.emulateMedia({ colorScheme: 'light' });
  const light = await violations(page, asked);
  await page.emulateMedia({ colorScheme: 'dark' });
  const dark = await violations(page, { ...asked, only: 'colours' });
  return [...light, ...dark.map((sentence) => `dark: ${sentence}`)];
}
