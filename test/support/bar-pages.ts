/**
 * The bar in a real browser, over pages that are made here (toolbar-pages.ts): what the tests of it open, look at and point at.
 */
import type { BrowserContextOptions, Locator, Page } from 'playwright-core';
import { type OpenPage, type SharedBrowser, useBrowser } from './browser.ts';
import { serveToolbar, type ToolbarHost } from './toolbar-pages.ts';
import { until } from './waiting.ts';

export const WIDE = { width: 1440, height: 800 };
export const NARROW = { width: 390, height: 844 };
/** Runs in the page. */
export const ROOT = `document.querySelector('hindsight-toolbar')?.shadowRoot`;
export const ITEMS = `[...(${ROOT}?.querySelectorAll('.item') ?? [])]`;
/** How many bars stand in the page. */
export const BARS = "document.querySelectorAll('hindsight-toolbar').length";

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface BarPages {
  /** Fresh for each test. */
  readonly host: ToolbarHost;
  browser: SharedBrowser;
  /** A page of the host, when its bar is there; `without`: at once. */
  open(path?: string, options?: BrowserContextOptions & { without?: boolean }): Promise<OpenPage>;
}

/** Within a `describe`: a browser for all of its tests, and a host for each. */
export function useBarPages(): BarPages {
  const browser = useBrowser();
  let host: ToolbarHost;
  beforeEach(async () => {
    host = await serveToolbar();
  });
  afterEach(() => host.close());

  return {
    browser,
    get host() {
      return host;
    },
    async open(path = '/', { without = false, ...context } = {}) {
      const opened = await browser.open({ viewport: WIDE, ...context });
      await opened.page.goto(`${host.origin}${path}`);
      // Not by a function: a policy of the page may forbid its evaluation.
      const first = opened.page.locator('hindsight-toolbar .item').first();
      if (!without) await first.waitFor({ state: 'attached' });
      return opened;
    },
  };
}

/** Of each item. */
export const texts = (page: Page): Promise<string[]> =>
  page.evaluate(`${ITEMS}.map((item) => item.innerText)`);
/** Text of the open preview; null where none is. */
export const preview = (page: Page): Promise<string | null> =>
  page.evaluate(
    `(() => { const pop = ${ROOT}.querySelector('.pop'); return pop.hidden ? null : pop.innerText; })()`,
  );
/** The same, as soon as it holds these words; null: as soon as none is open. */
export async function previewWith(page: Page, words: string | null): Promise<string | null> {
  let text: string | null = null;
  await until(
    async () => {
      text = await preview(page);
      return words === null ? text === null : text?.includes(words) === true;
    },
    `a preview with ${words ?? 'nothing'}`,
  );
  return text;
}
export const boxOf = (page: Page, selector: string): Promise<Box> =>
  page.evaluate(`(() => { const { x, y, width, height } = ${ROOT}.querySelector('${selector}').getBoundingClientRect();
      return { x, y, width, height }; })()`);
/** What has the focus, in the bar or in the page. */
export const focused = (page: Page): Promise<string> =>
  page.evaluate(`(${ROOT}?.activeElement ?? document.activeElement).innerText
      || ${ROOT}?.activeElement?.getAttribute('aria-label') || document.activeElement.localName`);
export const item = (page: Page, text: string): Locator =>
  page.locator('hindsight-toolbar .item', { hasText: text });
/** Longer than a preview takes to open and to go. */
export const wait = (page: Page, ms = 400): Promise<void> => page.waitForTimeout(ms);
