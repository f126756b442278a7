/** The profiler's pages in a real browser, under their own policy: widths, theme, folds, copy. */
import { expect } from 'chai';
import type { BrowserContextOptions } from 'playwright-core';
import { useBrowser, type OpenPage, overflowsAt, watchCopies } from '../support/browser.ts';
import { usePages } from '../support/page-client.ts';
import { createPageFixture } from '../support/page-fixture.ts';
import { recordSamples, samplePanels, sampleRule } from '../support/page-samples.ts';
import { until } from '../support/waiting.ts';

describe('pages in a browser', () => {
  const browser = useBrowser();
  const fixture = createPageFixture(samplePanels(), { rules: [sampleRule] });
  const server = usePages(fixture);
  /** Addresses by what they show. */
  const addresses: Record<string, string> = {};

  before(async () => {
    await recordSamples(fixture);
    const { rows } = await fixture.profiles.find({ limit: 100, offset: 0 });
    const tokenOf = (test: (url: string) => boolean): string => rows.find(({ url }) => test(url))?.token ?? '';
    const busy = tokenOf((url) => url.startsWith('/orders'));
    const hostile = tokenOf((url) => url.includes('onerror'));
    Object.assign(addresses, {
      list: '/_profiler/',
      request: `/_profiler/${busy}`,
      migrations: `/_profiler/${busy}?panel=migrations`,
      configuration: `/_profiler/${busy}?panel=configuration`,
      form: `/_profiler/${tokenOf((url) => url === '/checkout')}?panel=request`,
      'hostile request': `/_profiler/${hostile}?panel=request`,
      'unknown token': '/_profiler/abcdef',
    });
  });

  async function open(name: string, options: BrowserContextOptions = {}): Promise<OpenPage> {
    const opened = await browser.open(options);
    await opened.page.goto(`${server.address}${addresses[name] ?? ''}`);
    return opened;
  }

  it('overflow nothing from 390 px to 2,560 px, and break no rule of their policy', async () => {
    const { page, problems } = await open('list');
    for (const [name, address] of Object.entries(addresses)) {
      await page.goto(`${server.address}${address}`);
      expect(await overflowsAt(page, [390, 820, 1440, 2560]), name).to.deep.equal([]);
      expect(problems, name).to.deep.equal([]);
    }
  });

  it('remember the theme', async () => {
    const { page } = await open('list', { colorScheme: 'light' });
    const ground = (): Promise<string> => page.evaluate('getComputedStyle(document.documentElement).backgroundColor');
    const light = await ground();
    await page.keyboard.press('Shift+D');
    await page.keyboard.press('Shift+D');
    expect(await ground()).to.not.equal(light);
    await page.reload();
    expect(await page.locator('html').getAttribute('data-theme')).to.equal('dark');
    expect(await page.locator('[data-theme-toggle]').getAttribute('aria-label')).to.equal('Theme: dark');
  });

  it('unfold the error page of a request by mouse and by key', async () => {
    const { page } = await open('list');
    await page.keyboard.press('j');
    expect(await page.evaluate("document.activeElement.closest('tr')?.id")).to.match(/^r-/);
    const child = page.locator('tr.kid').first();
    expect(await child.isVisible()).to.equal(false);
    await page.locator('.unfold').first().click();
    expect(await child.isVisible()).to.equal(true);
    await page.locator('tr:has(.unfold) .go').first().focus();
    await page.keyboard.press('o');
    expect(await child.isVisible()).to.equal(false);
  });

  it('copy values without our remarks, and from any panel the command line by line', async () => {
    const { page } = await open('request');
    const copied = await watchCopies(page);
    await page.locator('#request-headers tr', { hasText: 'Authorization' }).locator('.copy').click();
    await page.locator('#said', { hasText: 'Copied' }).waitFor({ state: 'attached' });
    expect(await copied()).to.equal('Bearer [masked 1, string]');
    await page.goto(`${server.address}${addresses.migrations ?? ''}`);
    const command = await watchCopies(page);
    await page.keyboard.press('c');
    await until(async () => (await command()).startsWith('curl'), 'the command in the clipboard');
    const lines = (await command()).split('\n');
    expect(lines[0]).to.equal("curl 'https://shop.example.com/orders/4712?tab=items' \\");
    expect(lines.at(-1)).to.equal('  --compressed');
  });
});
