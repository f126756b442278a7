/** The list in a real browser over the example shop: folds, pins, clear, pause and what is new, with script and without. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { violations } from '../support/axe.ts';
import { type OpenPage, useBrowser } from '../support/browser.ts';
import { type RunningShop, startShop } from '../support/shop.ts';

describe('the list in a browser', () => {
  let shop: RunningShop;
  const browser = useBrowser();
  /** For tests that leave nothing behind in the browser: a page costs a third of a second. */
  let scripted: OpenPage;
  let plain: OpenPage;

  before(async () => {
    shop = await startShop();
    scripted = await browser.open();
    plain = await browser.open({ javaScriptEnabled: false });
  });
  // A list that is left open reads each request of the tests that follow.
  afterEach(() => scripted?.page.goto('about:blank'));
  after(() => shop?.close());

  const list = (page: Page, query = ''): Promise<unknown> =>
    page.goto(`${shop.origin}/_profiler/search${query}`);
  const recording = (): Promise<Response> => fetch(`${shop.origin}/_profiler/search.json`);

  /** Asks for a page of the shop; gives the token of its profile. */
  async function ask(path: string): Promise<string> {
    const response = await fetch(`${shop.origin}${path}`);
    await response.text();
    return response.headers.get('x-debug-token') ?? '';
  }
  /** The same in the browser, with what the page loads. */
  async function visit(page: Page, path: string): Promise<string> {
    const response = await page.goto(`${shop.origin}${path}`);
    return response?.headers()['x-debug-token'] ?? '';
  }

  async function logIn(page: Page): Promise<void> {
    await page.goto(`${shop.origin}/login`);
    await page.getByLabel('Password').fill('correct horse');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.waitForURL(/\/account\/1$/);
  }

  it('folds what a page asks for and where a form leads, and unfolds it', async () => {
    const { page, problems } = scripted;
    const token = await visit(page, '/products/3');
    await logIn(page);
    await list(page);
    expect(await page.locator(`#r-${token} .unfold`).count(), 'assets are not listed').to.equal(0);
    await list(page, '?kind=request');
    const fold = page.locator(`#r-${token} .unfold`);
    expect(await fold.innerText()).to.equal('1 asset');
    const folded = page.locator(`#k-${token} .go`);
    expect(await folded.isVisible()).to.equal(false);
    await fold.click();
    expect(await folded.innerText()).to.equal('/shop/shop.css');
    await page.locator(`#r-${token} .go`).focus();
    await page.keyboard.press('o');
    expect(await folded.isVisible()).to.equal(false);
    const login = page.locator('tr', { has: page.locator('.method.write', { hasText: 'POST' }) }).first();
    expect(await login.innerText())
      .to.contain('/login')
      .and.contain('→ /account/1')
      .and.contain('1 redirect');
    expect(problems).to.deep.equal([]);
  });

  // Without script, they are in UTC: test/controllers/profiler/list.test.ts.
  it('shows times in the reader’s zone, with UTC on hover', async () => {
    const { page, problems } = await browser.open({ timezoneId: 'Asia/Kolkata' });
    const token = await ask('/products/4');
    await list(page);
    expect(await page.locator('#rows [data-zone]').innerText()).to.equal('GMT+5:30');
    const time = page.locator(`#r-${token} time`);
    const utc = (await time.getAttribute('datetime')) ?? '';
    const there = new Date(Date.parse(utc) + 5.5 * 3_600_000).toISOString().slice(11, 19);
    expect(await time.innerText()).to.match(/^\d+ (?:s|min) ago$/);
    expect(await time.getAttribute('title'))
      .to.contain(`${there}.`)
      .and.to.contain('GMT+5:30')
      .and.to.contain(utc.replace('T', ' ').replace('Z', ' UTC'));
    await page.goto(`${shop.origin}/_profiler/${token}`);
    expect(await page.locator('.facts time').innerText()).to.match(
      new RegExp(`${there}\\.\\d{3} GMT\\+5:30$`),
    );
    expect(problems).to.deep.equal([]);
  });

  it('opens a request by a click anywhere in its row, but not while text is selected', async () => {
    const { page, problems } = scripted;
    const token = await ask('/products/4');
    await list(page);
    const cell = page.locator(`#r-${token} .c-du`);
    const { x, y, width, height } = (await page.locator(`#r-${token} .c-rt bdi`).boundingBox()) ?? {
      x: 0,
      y: 0,
      width: 0,
      height: 0,
    };
    await page.mouse.move(x + 1, y + height / 2);
    await page.mouse.down();
    await page.mouse.move(x + width - 2, y + height / 2, { steps: 3 });
    await page.mouse.up();
    expect(await page.evaluate('String(getSelection())')).to.match(/^\/product/);
    expect(new URL(page.url()).pathname).to.equal('/_profiler/search');
    const [tab] = await Promise.all([
      page.context().waitForEvent('page'),
      cell.click({ modifiers: ['Control'] }),
    ]);
    await tab.waitForURL(new RegExp(`/_profiler/${token}`));
    expect(new URL(page.url()).pathname).to.equal('/_profiler/search');
    await page.locator(`#r-${token} input`).check();
    expect(new URL(page.url()).pathname).to.equal('/_profiler/search');
    await cell.click();
    await page.waitForURL(new RegExp(`/_profiler/${token}`));
    expect(problems).to.deep.equal([]);
  });

  it('replaces nothing that the pointer has come to while the list was asked for', async () => {
    const { page, problems } = scripted;
    const token = await ask('/products/4');
    await list(page);
    let pointed: Promise<void>;
    let answer = (): void => undefined;
    await page.route('**/_profiler/search', async (route) => {
      await pointed;
      await route.continue();
    });
    const askFor = async (path: string): Promise<string> => {
      pointed = new Promise((resolve) => (answer = resolve));
      const asked = page.waitForRequest('**/_profiler/search');
      const response = await fetch(`${shop.origin}${path}`);
      await asked;
      return response.headers.get('x-debug-token') ?? '';
    };
    const next = await askFor('/orders');
    await page.locator(`#r-${token}`).hover();
    answer();
    await page.locator('#news').waitFor();
    expect(await page.locator(`#r-${next}`).count()).to.equal(0);
    await page.mouse.move(2, 2);
    await page.locator(`#r-${next}`).waitFor();

    await askFor('/orders');
    await page.locator('#views').getByText('Pinned').hover();
    await page.mouse.down();
    answer();
    await page.locator('#news').waitFor();
    await page.mouse.up();
    await page.waitForURL('**/_profiler/search?has=pin');
    await page.unroute('**/_profiler/search');
    expect(problems).to.deep.equal([]);
  });

  it('pins and unpins a profile', async () => {
    const { page, problems } = scripted;
    const token = await ask('/products/5');
    await page.goto(`${shop.origin}/_profiler/${token}`);
    await page.getByRole('button', { name: 'Pin', exact: true }).click();
    await page.getByRole('button', { name: 'Pinned' }).waitFor();
    await list(page, '?has=pin');
    expect(await page.locator(`#r-${token} .badge.accent`).innerText()).to.equal('pinned');
    expect(await page.locator('#views [aria-current]').innerText()).to.match(/^Pinned\s+[1-9]$/);
    await page.locator(`#r-${token} .go`).click();
    await page.getByRole('button', { name: 'Pinned' }).click();
    await page.getByRole('button', { name: 'Pin', exact: true }).waitFor();
    await list(page, '?has=pin');
    expect(await page.locator(`#r-${token}`).count()).to.equal(0);
    expect(problems).to.deep.equal([]);
  });

  it('pauses recording, says so, and resumes', async () => {
    const { page, problems } = scripted;
    await list(page);
    await page.getByRole('button', { name: 'Pause recording' }).click();
    await page.locator('.paused').waitFor();
    expect(await page.locator('.paused').innerText()).to.contain(
      'Recording is paused in all processes since',
    );
    const token = await ask('/products/6?paused=1');
    await page.goto(`${shop.origin}/_profiler/${token}`);
    expect(await page.locator('main').innerText()).to.contain('recording has been paused since');
    await list(page);
    expect(await page.locator('#found').innerText()).to.not.contain('paused=');
    await page.getByRole('button', { name: 'Resume recording' }).click();
    await page.locator('.paused').waitFor({ state: 'detached' });
    const resumed = await ask('/products/6');
    await list(page);
    expect(await page.locator(`#r-${resumed}`).count()).to.equal(1);
    expect(problems).to.deep.equal([]);
  });

  // Without script, all of them are forms: test/controllers/profiler/actions.test.ts.
  it('clears the list but for what is pinned, when somebody is sure', async () => {
    const { page, problems } = scripted;
    const token = await ask('/products/7');
    const other = await ask('/products/8');
    await page.goto(`${shop.origin}/_profiler/${token}`);
    await page.getByRole('button', { name: 'Pin', exact: true }).click();
    await page.getByRole('button', { name: 'Pinned' }).waitFor();
    await list(page);
    await page.getByRole('button', { name: 'Clear…' }).click();
    expect(page.url().endsWith('/-/clear')).to.equal(false);
    await page.locator('#clear').getByText('Cancel').click();
    await list(page);
    expect(await page.locator(`#r-${other}`).count()).to.equal(1);
    await page.getByRole('button', { name: 'Clear…' }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.waitForURL(/\/_profiler\/$/);
    expect(await page.locator(`#r-${other}`).count()).to.equal(0);
    expect(await page.locator(`#r-${token}`).count()).to.equal(1);
    expect((await recording()).status).to.equal(200);
    expect(problems).to.deep.equal([]);
  });

  it('gives axe-core nothing to say while it is paused, unfolded, asking and finding', async () => {
    const { page, problems } = await browser.open({ viewport: { width: 390, height: 800 } });
    const faults = async (within = 'body'): Promise<string[]> => {
      const wide = await page.evaluate<number>(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      expect(wide).to.be.at.most(0);
      return violations(page, { within });
    };
    const token = await visit(page, '/products/2');
    await page.goto(`${shop.origin}/_profiler/${token}`);
    await page.getByRole('button', { name: 'Pin', exact: true }).click();
    await list(page, '?since=1h&kind=request');
    await page.getByRole('button', { name: 'Pause recording' }).click();
    await page.locator('.paused').waitFor();
    await page.locator(`#r-${token} .unfold`).click();
    expect(await faults()).to.deep.equal([]);
    await page.getByRole('button', { name: 'Clear…' }).click();
    expect(await faults('#clear')).to.deep.equal([]);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Resume recording' }).click();
    await list(page, '?text=select');
    expect(await faults('main')).to.deep.equal([]);
    await page.goto(`${shop.origin}/_profiler/${token}`);
    await page.getByRole('button', { name: 'Pinned' }).click();
    expect(problems).to.deep.equal([]);
  });

  it('shows what is new by itself, and leaves what somebody has opened and marked', async () => {
    const { page, problems } = scripted;
    const token = await visit(plain.page, '/products/9');
    await list(page, '?kind=request');
    await page.locator('#live[aria-pressed=true]').waitFor();
    await page.locator(`#r-${token} .unfold`).click();
    await page.locator(`#r-${token} [name=t]`).check();
    await page.getByLabel('URL contains').fill('half typed');
    await page.mouse.move(2, 2);
    const fresh = await visit(plain.page, '/products/10');
    await page.locator(`#r-${fresh}.new`).waitFor();
    expect(await page.locator(`#k-${token}`).isVisible()).to.equal(true);
    expect(await page.locator(`#r-${token} [name=t]`).isChecked()).to.equal(true);
    expect(await page.getByLabel('URL contains').inputValue()).to.equal('half typed');
    expect(await page.locator(`#k-${fresh}`).isVisible()).to.equal(false);
    expect(problems).to.deep.equal([]);
  });

  it('says how many are new further down the page, and is still when it is told to', async () => {
    const { page } = await browser.open({ viewport: { width: 900, height: 300 } });
    for (let i = 1; i < 6; i++) await ask(`/products/${i}`);
    await list(page);
    await page.locator('#live[aria-pressed=true]').waitFor();
    await page.evaluate('window.scrollTo(0, 400)');
    const fresh = await ask('/products/11');
    await page
      .locator('#news')
      .filter({ hasText: /^\d+ new requests?$/ })
      .waitFor();
    expect(await page.locator(`#r-${fresh}`).count()).to.equal(0);
    const place = await page.locator('#news').boundingBox();
    expect(place?.y).to.be.within(0, 300);
    await page.locator('#news').click();
    await page.locator(`#r-${fresh}`).waitFor();
    await page.locator('#live').click();
    expect(await page.locator('#live').getAttribute('aria-pressed')).to.equal('false');
    const unseen = await ask('/products/12');
    await page.waitForTimeout(1500);
    expect(await page.locator(`#r-${unseen}`).count()).to.equal(0);
  });
});
