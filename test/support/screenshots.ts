/** Pictures of the example shop's pages, for docs/pages: `npx tsx test/support/screenshots.ts [name …]`. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { findProgram } from './parts.ts';
import { mochaGlobalSetup, mochaGlobalTeardown } from './run.ts';
import { type RunningShop, startShop } from './shop.ts';

const FOLDER = 'docs/pages';

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
  for (const path of [
    '/',
    '/products/1',
    '/products/4?from=home',
    '/shop/shop.css',
    '/api/products',
    '/robots.txt',
  ])
    await send('other', path);
  await send('login', '/login', form({ email: 'ada@shop.example', password: 'secret secret' }));
  await send('missing', '/product/1');
  await send('quote', '/api/quote?currency=xau');
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
    timeline: of('orders', 'timeline'),
    exception: of('quote', 'exception'),
    database: of('orders', 'database'),
    'error-404': '/product/1',
  };
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
try {
  await mkdir(FOLDER, { recursive: true });
  const page = await browser.newPage({ viewport: { width: 1440, height: 1000 } });
  for (const [name, path] of Object.entries(pagesOf(await makeRequests(shop)))) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    await page.goto(`${shop.origin}${path}`);
    await page.screenshot({ path: join(FOLDER, `${name}.png`) });
  }
} finally {
  await browser.close();
  await shop.close();
  await mochaGlobalTeardown();
}
