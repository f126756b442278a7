/** Every kind of page over the example shop: axe-core in light and dark, order of focus, policy, no script. */
import { expect } from 'chai';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { violations, violationsInBothThemes } from '../support/axe.ts';
import { useBrowser, type OpenPage } from '../support/browser.ts';
import { type RunningShop, startShop } from '../support/shop.ts';

const PANELS = [
  'exception', 'request', 'timeline', 'logs', 'routing', 'database', 'http_client', 'views', 'dump', 'migrations', 'runtime',
  'configuration',
]; // prettier-ignore
/** What the shop is asked for; the token of each is known by its name. */
const REQUESTS: Record<string, { path: string; init?: RequestInit }> = {
  orders: { path: '/orders', init: { headers: { 'x-debug-profile': 'cpu' } } },
  fault: { path: '/api/quote?currency=xau' },
  missing: { path: '/prodcts/1' },
  bare: { path: '/api/rates' },
  checkout: {
    path: '/checkout',
    init: {
      method: 'POST',
      body: new URLSearchParams({ email: 'ada@shop.example', product: '1', card_number: '1' }),
    },
  },
};

/** Where another request than that of the orders fills a panel. */
const RICHEST: Record<string, string> = {
  exception: 'fault',
  request: 'checkout',
  routing: 'missing',
};

/** The dark theme has the same rules with other values of the same variables: these show each pair of colours. */
const ALSO_DARK: readonly string[] = [
  'the list',
  'a profile of a fault',
  'the routes',
  'a comparison',
  'the error page of a fault',
  'the panel database',
];

describe('pages of the profiler', () => {
  const browser = useBrowser();
  let shop: RunningShop;
  /** For tests that only look: a page costs a third of a second. */
  let shared: OpenPage;
  const tokens: Record<string, string> = {};

  before(async () => {
    shop = await startShop();
    shared = await browser.open({ viewport: { width: 1440, height: 900 } });
    for (const [name, { path, init }] of Object.entries(REQUESTS)) {
      const response = await fetch(`${shop.origin}${path}`, { redirect: 'manual', ...init });
      await response.arrayBuffer();
      tokens[name] = response.headers.get('x-debug-token') ?? '';
    }
  });

  after(async () => {
    await shop?.close();
  });

  /** One address for each kind of page. */
  const kinds: Record<string, () => string> = {
    'the list': () => '/_profiler/search?status=4xx&ip=127.0.0.1&sort=time',
    'a search that finds nothing': () => '/_profiler/search?url=nowhere',
    'a profile of a fault': () => `/_profiler/${tokens.fault}`,
    'a profile with CPU samples': () => `/_profiler/${tokens.orders}?panel=cpu`,
    'a panel without data': () => `/_profiler/${tokens.bare}?panel=database`,
    'the routes': () => '/_profiler/routes',
    'one of the routes': () => '/_profiler/routes?route=/orders&method=GET',
    'a comparison': () => `/_profiler/compare?a=${tokens.orders}&b=${tokens.fault}&all=1`,
    'what asks for a comparison': () => `/_profiler/compare?a=${tokens.orders}`,
    'an unknown token': () => '/_profiler/abcdef',
    'the error page of a fault': () => '/api/quote',
    'the error page of a missed route': () => '/prodcts/1?a=b',
  };

  async function open(address: string, options: BrowserContextOptions): Promise<OpenPage> {
    const opened = await browser.open({ viewport: { width: 1440, height: 900 }, ...options });
    await opened.page.goto(`${shop.origin}${address}`);
    return opened;
  }
  async function show(address: string): Promise<Page> {
    await shared.page.goto(`${shop.origin}${address}`);
    return shared.page;
  }

  it('are found at fault by axe-core where they are: the tool works here', async () => {
    const page = await show('/_profiler/');
    await page.emulateMedia({ colorScheme: 'light' });
    await page.evaluate(
      "document.querySelector('input[name=url]').parentElement.replaceWith(document.querySelector('input[name=url]'))",
    );
    expect((await violations(page)).join()).to.include('label');
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.evaluate("document.querySelector('main').style.color = '#333'");
    expect((await violations(page, { only: 'colours' })).join()).to.include('color-contrast');
  });

  function itIsQuiet(kind: string, address: () => string, asked: { within?: string } = {}): void {
    const isAlsoDark = ALSO_DARK.includes(kind);
    it(`give axe-core nothing to say, and are quiet: ${kind}${isAlsoDark ? ', light and dark' : ''}`, async () => {
      const page = await show(address());
      if (!isAlsoDark) await page.emulateMedia({ colorScheme: 'light' });
      const ask = isAlsoDark ? violationsInBothThemes : violations;
      expect(await ask(page, asked)).to.deep.equal([]);
      expect(shared.problems.splice(0)).to.deep.equal([]);
    });
  }

  for (const [kind, address] of Object.entries(kinds)) itIsQuiet(kind, address);
  for (const panel of PANELS)
    itIsQuiet(`the panel ${panel}`, () => `/_profiler/${tokens[RICHEST[panel] ?? 'orders']}?panel=${panel}`, {
      within: 'main',
    });

  it('lead by the keyboard through every control once, each in sight with an outline, and out again', async () => {
    for (const address of ['/_profiler/search?url=quote', `/_profiler/${tokens.orders}`]) {
      const page = await show(address);
      await page.keyboard.press('Tab');
      expect(await page.evaluate('document.activeElement.className'), address).to.equal('skip');
      const seen: string[] = [];
      for (let step = 0; step < 400; step++) {
        const at = await page.evaluate<{
          id: string;
          outline: string;
          width: number;
          top: number;
        } | null>(`(() => {
          const element = document.activeElement;
          if (element === document.body || element === null) return null;
          window.visited ??= [];
          if (!window.visited.includes(element)) window.visited.push(element);
          const box = element.getBoundingClientRect();
          const style = getComputedStyle(element);
          return { id: String(window.visited.indexOf(element)), outline: style.outlineStyle, width: box.width, top: box.top };
        })()`);
        if (at === null) break;
        expect(seen, `${address}: a trap after ${seen.length} steps`).to.not.include(at.id);
        expect(at.outline, `${address}, control ${at.id}`).to.not.equal('none');
        expect(at.width, `${address}, control ${at.id}`).to.be.greaterThan(0);
        expect(at.top, `${address}, control ${at.id}`).to.be.within(-5, 900);
        seen.push(at.id);
        await page.keyboard.press('Tab');
      }
      expect(seen.length, address).to.be.within(10, 399);
    }
  });

  it('list in their keyboard help only keys that do something there', async () => {
    const keysOf = async (address: string): Promise<string> => {
      const page = await show(address);
      await page.keyboard.press('?');
      return page.locator('#keys').innerText();
    };
    const profile = await keysOf(`/_profiler/${tokens.orders}`);
    expect(profile).to.include('Copy as cURL').and.include('Database').and.include('Search');
    const fault = await keysOf('/api/quote');
    expect(fault).to.include('Home').and.include('row').and.not.include('Search').and.not.include('cURL');
    const list = await keysOf('/_profiler/');
    expect(list).to.not.include('Database').and.not.include('cURL').and.not.include('Markdown');
  });

  it('are whole without script', async () => {
    const { page } = await open('/_profiler/', { javaScriptEnabled: false });
    // Tests of each panel read it as the server sends it.
    const panels = ['timeline', 'database'].map((name) => `/_profiler/${tokens.orders}?panel=${name}`);
    for (const address of ['/_profiler/', '/api/quote', ...panels]) {
      await page.goto(`${shop.origin}${address}`);
      expect(await page.locator('main').innerText(), address).to.have.length.above(20);
      expect(await page.locator('.js-only:visible').count(), address).to.equal(0);
    }
    await page.context().close();
  });

  it('stay legible in forced colours, in print, and without motion', async () => {
    const { page } = await open(`/_profiler/${tokens.orders}?panel=database`, {
      forcedColors: 'active',
      reducedMotion: 'reduce',
    });
    const fill = "getComputedStyle(document.querySelector('rect.k-db')).fill";
    expect(await page.evaluate(fill)).to.not.equal('rgb(0, 0, 0)');
    expect(await page.evaluate('document.getAnimations().length')).to.equal(0);
    await page.emulateMedia({ media: 'print', colorScheme: 'dark', forcedColors: 'none' });
    expect(await page.locator('nav.panels').isVisible()).to.equal(false);
    expect(await page.locator('.metrics').first().isVisible()).to.equal(true);
    const overflow = await page.evaluate(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
    expect(overflow).to.be.at.most(0);
    await page.context().close();
  });
});
