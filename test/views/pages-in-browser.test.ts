/** The profiler's pages in a real browser, under their own policy: widths, theme, copy. */
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
    const form = tokenOf((url) => url === '/checkout');
    Object.assign(addresses, {
      list: '/_profiler/',
      request: `/_profiler/${busy}`,
      migrations: `/_profiler/${busy}?panel=migrations`,
      form: `/_profiler/${form}?panel=request`,
      routes: '/_profiler/routes',
      comparison: `/_profiler/compare?a=${busy}&b=${form}`,
    });
  });

  async function open(name: string, options: BrowserContextOptions = {}): Promise<OpenPage> {
    const opened = await browser.open(options);
    await opened.page.goto(`${server.address}${addresses[name] ?? ''}`);
    return opened;
  }

  it('overflow nothing up to 2,560 px, and break no rule of their policy', async () => {
    const { page, problems } = await open('list');
    for (const [name, address] of Object.entries(addresses)) {
      await page.goto(`${server.address}${address}`);
      // Each page at 390 px: test/browser/hostile-pages.test.ts.
      expect(await overflowsAt(page, [820, 2560]), name).to.deep.equal([]);
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
    expect(lines).to.include('  --compressed \\');
  });
});
