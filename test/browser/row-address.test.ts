/** The row that is opened on a panel is in the address, so that its link opens it: for others, on any page, and without script. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { useBrowser } from '../support/browser.ts';
import { addBusyPage } from '../support/observed-samples.ts';
import { everyPanel } from '../support/every-page.ts';
import { usePages } from '../support/page-client.ts';
import { createPageFixture } from '../support/page-fixture.ts';

describe('the address of an opened row', () => {
  const browser = useBrowser();
  const fixture = createPageFixture(everyPanel());
  const server = usePages(fixture);
  let token = '';

  before(async () => {
    ({ token } = await fixture.record({ more: addBusyPage }));
  });

  async function open(path: string, javaScriptEnabled = true): Promise<Page> {
    const { page } = await browser.open({ javaScriptEnabled });
    await page.goto(`${server.address}/_profiler/${token}${path}`);
    return page;
  }

  // The calls of http_client are rows like those of the database.
  for (const [panel, rows] of [
    ['database', '.queries > li:has(> details)'],
    ['logs', 'tr:has(> td > details)'],
  ] as const)
    it(`follows what is opened and closed, of ${panel}`, async () => {
      const page = await open(`?panel=${panel}`);
      const history = await page.evaluate('history.length');
      const row = page.locator(`main ${rows}`).last();
      const id = (await row.getAttribute('id')) ?? '';
      expect(id).to.not.equal('');
      const fold = row.locator('details').first();
      if ((await fold.getAttribute('open')) !== null) await fold.locator('> summary').click();
      await fold.locator('> summary').click();
      const address = new URL(page.url());
      expect(address.hash).to.equal(`#${id}`);
      expect(address.searchParams.get('panel')).to.equal(panel);
      const other = await open(`${address.search}${address.hash}`);
      expect(await other.locator(`#${id} details`).first().getAttribute('open')).to.equal('');
      if (panel !== 'logs') {
        const plain = await open(`${address.search}${address.hash}`, false);
        expect(await plain.locator(`#${id} > details`).getAttribute('open')).to.equal('');
      }
      // The way back does not lead through each opened row.
      expect(await page.evaluate('history.length')).to.equal(history);
      await fold.locator('> summary').click();
      expect(page.url()).to.equal(`${server.address}/_profiler/${token}?panel=${panel}`);
    });
});
