/**
 * A real Chromium through playwright-core, with what a page must not do collected: messages on the console's error
 * level, exceptions, and violations of the content security policy.
 *
 * In: a URL of a server on this machine. Out: Playwright's page plus `problems`, which a test expects to be empty.
 */
import {
  chromium,
  type Browser as Chromium,
  type BrowserContext,
  type BrowserContextOptions,
  type Page,
} from 'playwright-core';
import { findProgram, skipOrFail } from './parts.ts';
import { type Part, sharedPart } from './shared-part.ts';
import { WITHIN_MS } from './waiting.ts';

/**
 * What the Chromium with a window has that nobody looks at: two pages for its address bar, and a process for the page to come. Without
 * them a page costs half. The next ones ask hosts of Chromium's maker at every start, which a closed network refuses many times a second.
 * RenderDocument makes a new frame for every document, also of the same site: a quarter of what a navigation costs, and nothing that a page
 * sees. The last two give each site a process of its own: all pages of a profile share one, because a new one costs half a second of the processor.
 */
const OFF = [
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'SpareRendererForSitePerProcess',
  'Translate',
  'OptimizationHints',
  'MediaRouter',
  'AutofillServerCommunication',
  'RenderDocument',
  'IsolateOrigins',
  'site-per-process',
];

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  // Else a process of its own paints, by the processor: 6 % more of it.
  '--in-process-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-default-apps',
  '--disable-site-isolation-trials',
  '--renderer-process-limit=1',
  `--disable-features=${OFF.join(',')}`,
  '--force-color-profile=srgb',
  // Pages live for a second: to optimize their scripts costs a tenth of the processor time and is never paid back.
  '--js-flags=--no-opt --no-maglev',
];

/** Runs in the page, as text: the sources of this package know no browser's globals. */
const REPORT_VIOLATIONS = `document.addEventListener('securitypolicyviolation', (event) => {
  window.reportViolation('policy: ' + event.effectiveDirective + ' blocked ' + event.blockedURI);
});`;

export interface OpenPage {
  page: Page;
  /** What went wrong on the page so far, one sentence each. */
  problems: string[];
}

export interface TestBrowser {
  /** A page in a fresh profile, so that no storage or cache is shared between tests. */
  open(options?: BrowserContextOptions): Promise<OpenPage>;
  close(): Promise<void>;
}

/** The one without a window first: the same engine, and a page costs a fifth of the processor. */
function findChromium(): string | null {
  return (
    process.env.CHROMIUM_PATH ??
    findProgram(['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'])
  );
}

/** Chromium reports the document's own 4xx and 5xx as a failed resource: an error page is not a fault of the page. */
function isOwnStatus(page: Page, text: string, url: string): boolean {
  return text.startsWith('Failed to load resource: the server responded with a status') && url === page.url();
}

async function watchPage(page: Page, problems: string[]): Promise<void> {
  page.on('console', (message) => {
    if (message.type() !== 'error' || isOwnStatus(page, message.text(), message.location().url)) return;
    problems.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => problems.push(`exception: ${error.message}`));
  await page.exposeFunction('reportViolation', (sentence: string) => problems.push(sentence));
  await page.addInitScript({ content: REPORT_VIOLATIONS });
}

/** Those of the widths at which the page is wider than its window. It is opened once: what it costs is not the resizing. */
export async function overflowsAt(page: Page, widths: readonly number[]): Promise<number[]> {
  const wide: number[] = [];
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 });
    const over = await page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
    if (over > 0) wide.push(width);
  }
  return wide;
}

/** What the page copies from now on, also to the clipboard, which all tests of this browser share. Returns the last text. */
export async function watchCopies(page: Page): Promise<() => Promise<string>> {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.evaluate(`{
    const { clipboard } = navigator;
    const [write, writeText] = [clipboard.write, clipboard.writeText].map((method) => method.bind(clipboard));
    window.copied = '';
    clipboard.writeText = (text) => writeText((window.copied = text));
    clipboard.write = async ([item]) => {
      await write([item]);
      window.copied = await (await item.getType('text/plain')).text();
    };
  }`);
  return () => page.evaluate<string>('copied');
}

/** For run.ts: the one that all files of a run share. */
export async function startChromium(): Promise<Part> {
  const server = await chromium.launchServer({ executablePath: findChromium() ?? '', args: FLAGS });
  return { value: server.wsEndpoint(), stop: () => server.close() };
}

/** This process's connection to it. */
let connected: Promise<Chromium> | null = null;

/** For `before`. `close` ends the pages that were opened here. */
export async function launchBrowser(context: Mocha.Context): Promise<TestBrowser> {
  if (findChromium() === null) skipOrFail(context, 'Chromium');
  connected ??= sharedPart<string>('chromium').then((endpoint) => chromium.connect(endpoint));
  const browser = await connected;
  const profiles: BrowserContext[] = [];
  return {
    async open(options = {}) {
      const profile = await browser.newContext({ ignoreHTTPSErrors: true, ...options });
      profiles.push(profile);
      profile.setDefaultTimeout(WITHIN_MS);
      const page = await profile.newPage();
      const problems: string[] = [];
      await watchPage(page, problems);
      return { page, problems };
    },
    async close() {
      await Promise.all(profiles.splice(0).map((profile) => profile.close()));
    },
  };
}

/** Leaves nothing that the next test could see. */
async function empty({ page, problems }: OpenPage, options: BrowserContextOptions): Promise<void> {
  page.removeAllListeners('request');
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await page.evaluate('localStorage.clear(); sessionStorage.clear()').catch(() => undefined);
  await page.goto('about:blank');
  await page.context().clearCookies();
  const { colorScheme = 'light', forcedColors = 'none', reducedMotion = 'no-preference' } = options;
  await page.emulateMedia({ media: null, colorScheme, forcedColors, reducedMotion });
  await page.setViewportSize(options.viewport ?? { width: 1280, height: 720 });
  await page.mouse.move(0, 0);
  problems.length = 0;
}

export interface SharedBrowser {
  /** The page of an earlier test with the same options, emptied: a new one costs a third of a second of the processor. What hooks open stays. */
  open(options?: BrowserContextOptions): Promise<OpenPage>;
  /** Nobody had it before, and nobody gets it later. */
  openFresh(options?: BrowserContextOptions): Promise<OpenPage>;
}

/** Within a `describe`: a browser that is there for all of its tests. */
export function useBrowser(): SharedBrowser {
  let browser: TestBrowser;
  const shared = new Map<string, OpenPage>();
  /** Ends the use of each page that this test has; null outside of tests. */
  let ends: Map<string | OpenPage, () => Promise<void>> | null = null;
  before(async function () {
    browser = await launchBrowser(this);
  });
  beforeEach(() => {
    ends = new Map();
  });
  afterEach(async () => {
    for (const end of ends?.values() ?? []) await end();
    ends = null;
  });
  after(() => browser?.close());

  async function openFresh(options: BrowserContextOptions = {}): Promise<OpenPage> {
    const opened = await browser.open(options);
    ends?.set(opened, () => opened.page.context().close());
    return opened;
  }

  return {
    openFresh,
    async open(options = {}) {
      const key = JSON.stringify(options);
      if (ends === null || ends.has(key)) return openFresh(options);
      const known = shared.get(key);
      const opened = known === undefined || known.page.isClosed() ? await browser.open(options) : known;
      shared.set(key, opened);
      // One that a test has closed, or that is on its way elsewhere, is no more use.
      ends.set(key, () => empty(opened, options).catch(() => opened.page.context().close()));
      return opened;
    },
  };
}
