/** What axe-core finds wrong with a page. A run costs half a second of the processor: nothing is asked of a page twice. */
import axe from 'axe-core';
import type { Page } from 'playwright-core';

interface Violation {
  id: string;
  nodes: { html: string }[];
}

/** The rules of axe-core, of those that it asks by itself, whose answer depends on colours. */
const COLOURS = ['color-contrast', 'link-in-text-block'];

interface Asked {
  /** Of a page that has been asked the rest in other colours. */
  only?: 'colours';
  /** Selector of a part; what lies around it has been asked on another page. Default: all. */
  within?: string;
}

/** One sentence each. */
export async function violations(page: Page, { only, within }: Asked = {}): Promise<string[]> {
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(axe.source);
  const rules = only === 'colours' ? { runOnly: { type: 'rule', values: COLOURS } } : {};
  const options = JSON.stringify({ resultTypes: ['violations'], ...rules });
  const found = await page.evaluate<Violation[]>(
    `axe.run(${within === undefined ? 'document' : JSON.stringify(within)}, ${options}).then((result) => result.violations)`,
  );
  return found.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 140)}`));
}

/** All rules in light, those of colours in dark, there only `within` a part. Leaves the page dark. */
export async function violationsInBothThemes(page: Page, within?: string): Promise<string[]> {
  await page.emulateMedia({ colorScheme: 'light' });
  const light = await violations(page);
  await page.emulateMedia({ colorScheme: 'dark' });
  const dark = await violations(page, { only: 'colours', ...(within !== undefined && { within }) });
  return [...light, ...dark.map((sentence) => `dark: ${sentence}`)];
}
