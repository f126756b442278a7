/**
 * The bar in a real browser, over pages that are made here (toolbar-pages.ts): what the tests of it open, look at and point at.
 */
import type { BrowserContext, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { type OpenPage, type TestBrowser, useBrowser } from './browser.ts';
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
  browser: Pick<TestBrowser, 'open'>;
  /** A page of the host, when its bar is there; `without`: at once. */
  open(path?: string, options?: BrowserContextOptions & { without?: boolean }): Promise<OpenPage>;
}

/** Within a `describe`: a browser for all of its tests, and a host for each. */
export function useBarPages(): BarPages {
  const browser = useBrowser();
  let host: ToolbarHost;
  /** For the first page of each test that has no options of its own: to start one costs twice what it costs to load it again. */
  let shared: OpenPage;
  let isTaken: boolean;
  const others: BrowserContext[] = [];

  before(async () => {
    shared = await browser.open({ viewport: WIDE });
  });
  beforeEach(async () => {
    isTaken = false;
    host = await serveToolbar();
  });
  afterEach(async () => {
    await Promise.all(others.splice(0).map((context) => context.close()));
    // The next host may get the same port.
    await shared.page.evaluate('localStorage.clear(); sessionStorage.clear()').catch(() => undefined);
    await shared.page.emulateMedia({ media: null });
    await shared.page.mouse.move(0, 0);
    await shared.page.goto('about:blank');
    shared.problems.length = 0;
    await host.close();
  });

  async function openPage(context: BrowserContextOptions): Promise<OpenPage> {
    if (!isTaken && Object.keys(context).length === 0) {
      isTaken = true;
      return shared;
    }
    const opened = await browser.open({ viewport: WIDE, ...context });
    others.push(opened.page.context());
    return opened;
  }

  return {
    browser: { open: openPage },
    get host() {
      return host;
    },
    async open(path = '/', { without = false, ...context } = {}) {
      const opened = await openPage(context);
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
