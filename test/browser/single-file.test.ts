/** A saved profile in Chromium: it opens from the disk without asking anybody. */
import { expect } from 'chai';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { violations } from '../support/axe.ts';
import { useBrowser } from '../support/browser.ts';
import { startRecordingHost } from '../support/recording-host.ts';
import { freshFolder } from '../support/fresh-folder.ts';

describe('a saved profile in Chromium', () => {
  const browser = useBrowser();
  let folder = '';
  let file = '';

  before(async () => {
    folder = freshFolder();
    const host = await startRecordingHost();
    const token = await host.send('/broken?q=1');
    file = join(folder, 'saved.html');
    writeFileSync(file, await (await fetch(`${host.url}/_profiler/${token}.html`)).text());
    await host.close();
  });

  it('opens from the disk, styled, with all panels and working links, and asks for nothing', async () => {
    const { page, problems } = await browser.open({ viewport: { width: 390, height: 844 } });
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    const address = pathToFileURL(file).href;
    await page.goto(address);
    expect(await page.locator('h1').innerText()).to.include('/broken');
    await page.locator('nav.panels a[href="#exception"]').click();
    expect(await page.locator('#exception').boundingBox())
      .to.have.property('y')
      .that.is.within(-5, 100);
    const widths = 'document.documentElement.scrollWidth - innerWidth';
    expect(await page.evaluate(widths)).to.equal(0);
    expect(await page.evaluate("getComputedStyle(document.querySelector('.subject')).display")).to.equal(
      'grid',
    );
    expect(asked).to.deep.equal([address]);
    expect(problems).to.deep.equal([]);
    // Its colours are those of the pages that it joins.
    expect(await violations(page, { only: 'structure' })).to.deep.equal([]);
  });
});
