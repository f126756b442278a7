/**
 * Pictures of every page, from the example shop and a host with libraries that the shop does not use: `npx tsx test/support/screenshots.ts
 * [name …]`. All go to var/screenshots, whole, at 390, 1440 and 2560 px, light and dark, to be looked at; those that the documentation
 * shows go to docs/pages. Prints which pages are wider than their window.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium, type Browser, type Page } from 'playwright-core';
import { startLibrariesHost } from './libraries-host.ts';
import { findProgram } from './parts.ts';
import { mochaGlobalSetup, mochaGlobalTeardown } from './run.ts';
import { type RunningShop, startShop } from './shop.ts';

const WHOLE = 'var/screenshots';
const FOLDER = 'docs/pages';
const WIDTHS = [390, 1440, 2560] as const;
const SCHEMES = ['light', 'dark'] as const;
/** Shown by the documentation, at 1440 px. */
const PUBLISHED = new Set([
  'list', 'overview', 'database', 'timeline', 'exception', 'compare', 'routes', 'error-404',
]); // prettier-ignore

type Tokens = Readonly<Record<string, string>>;

/** Requests by a name; what each page below shows. */
async function makeRequests({ origin }: RunningShop): Promise<Tokens> {
  const tokens: Record<string, string> = {};
  async function send(name: string, path: string, init: RequestInit = {}): Promise<void> {
    const answer = await fetch(`${origin}${path}`, { redirect: 'manual', ...init });
    await answer.arrayBuffer();
    tokens[name] = answer.headers.get('x-debug-token') ?? '';
  }
  const form = (fields: Record<string, string>): RequestInit => ({
    method: 'POST',
    body: new URLSearchParams(fields),
    headers: { cookie: 'sid=s3cret-session-id; theme=dark', authorization: 'Bearer abcdef0123456789' },
  });
  for (let i = 0; i < 3; i++) await send('home', '/');
  for (const path of ['/products/1', '/products/4?from=home', '/shop/shop.css', '/api/products'])
    await send('other', path);
  await send('login', '/login', form({ email: 'ada@shop.example', password: 'secret secret' }));
  await send('account', '/account/1', { headers: { referer: `${origin}/login` } });
  await send('missing', '/robots.txt');
  await send('near', '/product/1');
  await send('method', '/products/1', { method: 'DELETE' });
  await send('failed', '/api/stock');
  await send('quote', '/api/quote?currency=xau');
  await send('slow', '/api/slow?ms=1200');
  await send('report', '/reports/daily');
  const order = {
    email: 'ada@shop.example',
    product: '1',
    quantity: '1',
    card_number: '4111 1111 1111 1111',
  };
  await send('checkout', '/checkout', form(order));
  await send('order', '/orders/3?tab=items');
  await send('orders', '/orders');
  return tokens;
}

function pagesOf(tokens: Tokens): Record<string, string> {
  const of = (name: string, panel: string): string => `/_profiler/${tokens[name] ?? ''}?panel=${panel}`;
  return {
    list: '/_profiler/',
    routes: '/_profiler/routes',
    compare: `/_profiler/compare?a=${tokens.order ?? ''}&b=${tokens.orders ?? ''}`,
    overview: of('orders', 'overview'),
    request: of('checkout', 'request'),
    timeline: of('orders', 'timeline'),
    exception: of('quote', 'exception'),
    logs: of('report', 'logs'),
    routing: of('method', 'routing'),
    database: of('orders', 'database'),
    'database-heavy': of('report', 'database'),
    migrations: of('orders', 'migrations'),
    views: of('report', 'views'),
    'http-client': of('checkout', 'http_client'),
    'database-plan': of('slow', 'database'),
    findings: of('checkout', 'timeline'),
    runtime: of('report', 'runtime'),
    configuration: of('orders', 'configuration'),
    dump: of('orders', 'dump'),
    'error-500': '/api/quote',
    'error-404': '/product/1',
    'error-405': '/api/payments',
    health: '/_profiler/health',
    'unknown-token': '/_profiler/abcdef',
    toolbar: '/orders',
    'unknown-panel': of('orders', 'nosuch'),
  };
}

/** Panels of libraries that the shop does not use, each by a request that fills it. */
async function libraryPages(origin: string): Promise<Record<string, string>> {
  const pages: Record<string, string> = {};
  const panels = {
    cache: '/cart',
    mail: '/orders/7/confirm',
    jobs: '/orders/7/confirm',
    graphql: '/graphql',
    processes: '/thumbnails',
    spans: '/thumbnails',
  };
  for (const [panel, path] of Object.entries(panels)) {
    const response = await fetch(`${origin}${path}`);
    await response.text();
    pages[panel] = `/_profiler/${response.headers.get('x-debug-token') ?? ''}?panel=${panel}`;
  }
  return pages;
}

/** Keys that show what is to be seen of a page. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  toolbar: ['Alt+Shift+KeyH', 'ArrowRight', 'ArrowRight', 'ArrowRight'],
};

/** Waits until the bar is there, and presses what is to be pressed. */
async function prepare(page: Page, name: string): Promise<void> {
  const keys = KEYS[name] ?? [];
  if (keys.length > 0) await page.locator('hindsight-toolbar .item').first().waitFor();
  for (const key of keys) await page.keyboard.press(key);
}

async function shoot(browser: Browser, address: string, name: string): Promise<void> {
  for (const scheme of SCHEMES)
    for (const width of WIDTHS) {
      const page = await browser.newPage({
        viewport: { width, height: width === 390 ? 844 : 1000 },
        colorScheme: scheme,
      });
      await page.goto(address);
      await prepare(page, name);
      const over = await page.evaluate<number>(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      if (over > 0) console.log(`${name}, ${width} px: ${over} px too wide`);
      await page.screenshot({ path: join(WHOLE, `${name}-${width}-${scheme}.png`), fullPage: true });
      if (width === 1440 && scheme === 'light' && PUBLISHED.has(name))
        await page.screenshot({ path: join(FOLDER, `${name}.png`) });
      await page.close();
    }
}

const wanted = process.argv.slice(2);
const executablePath =
  process.env.CHROMIUM_PATH ?? findProgram(['chromium-headless-shell', 'chromium', 'chromium-browser']);
if (executablePath === null) throw new Error('Pictures need Chromium.');
const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--force-color-profile=srgb',
];
const browser = await chromium.launch({ executablePath, args: flags });
await mochaGlobalSetup();
const shop = await startShop();
const libraries = await startLibrariesHost();
try {
  await mkdir(FOLDER, { recursive: true });
  await mkdir(WHOLE, { recursive: true });
  const pages = [
    { origin: shop.origin, pages: pagesOf(await makeRequests(shop)) },
    { origin: libraries.origin, pages: await libraryPages(libraries.origin) },
  ];
  for (const { origin, pages: paths } of pages)
    for (const [name, path] of Object.entries(paths)) {
      if (wanted.length > 0 && !wanted.includes(name)) continue;
      await shoot(browser, `${origin}${path}`, name);
    }
} finally {
  await browser.close();
  await libraries.close();
  await shop.close();
  await mochaGlobalTeardown();
}
