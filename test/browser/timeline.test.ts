/** The timeline in a real browser: whole without script, closer by link, folds opened, rows reached by keyboard. */
import { expect } from 'chai';
import { useBrowser } from '../support/browser.ts';
import { everyPanel } from '../support/every-page.ts';
import { addBusyPage, lasting, layer, query } from '../support/observed-samples.ts';
import { usePages } from '../support/page-client.ts';
import { createPageFixture } from '../support/page-fixture.ts';

describe('the timeline in a browser', () => {
  const browser = useBrowser();
  const fixture = createPageFixture(everyPanel());
  const server = usePages(fixture);
  let busy: string;
  let crowd: string;

  before(async () => {
    busy = (await fixture.record({ more: addBusyPage })).token;
    const many = await fixture.record({
      more: (context) => {
        lasting(context, 1000);
        context.add('layer', layer({ name: 'load', kind: 'handler', durationMs: 1, outcome: 'running', nextMs: null })); // prettier-ignore
        for (let i = 0; i < 300; i++)
          context.add('query', query({ sql: `select "a${i}" from "t" where b = $1`, startMs: 2 + i * 3, durationMs: 1, caller: `src/a.ts:${i}` })); // prettier-ignore
      },
    });
    crowd = many.token;
  });

  const timeline = (token: string, query_ = ''): string =>
    `${server.address}/_profiler/${token}?panel=timeline${query_}`;

  it('is whole without script: drawn, leading closer and back, folds opened', async () => {
    const { page } = await browser.open({ javaScriptEnabled: false });
    await page.goto(timeline(busy));
    expect(await page.locator('#wf tbody tr').count()).to.be.greaterThan(20);
    const bar = await page.locator('#wf rect.k-out').first().boundingBox();
    expect(bar?.width).to.be.greaterThan(50);
    await page.getByLabel('From millisecond').fill('200');
    await page.getByLabel('To millisecond').fill('300');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.waitForURL((url) => url.searchParams.get('from') === '200');
    const closer = await page.locator('#wf rect.k-out').first().boundingBox();
    expect(closer?.width).to.be.greaterThan(bar?.width ?? 0);
    await page.getByRole('link', { name: 'The whole request' }).click();
    await page.waitForURL((url) => !url.searchParams.has('from'));

    await page.goto(timeline(crowd));
    const fold = page.locator('#wf details').first();
    expect(await fold.locator('li').first().isVisible()).to.equal(false);
    await fold.locator('summary').click();
    expect(await fold.locator('li').first().isVisible()).to.equal(true);
    await fold.getByRole('link', { name: 'Show each on its own row' }).click();
    await page.waitForURL(/[?&]open=/);
    expect(await page.locator('#wf tbody tr').count()).to.be.greaterThan(30);
    expect(await page.locator('#wf details').count()).to.equal(0);
  });

  it('says the time under the pointer, and zooms to what was dragged over, also from the overview', async () => {
    const { page, problems } = await browser.open();
    for (const panel of ['timeline', 'overview']) {
      await page.goto(timeline(busy).replace('panel=timeline', `panel=${panel}`));
      const track = (await page.locator('.wf-box thead .track').boundingBox())!;
      await page.locator('.wf-box tbody td.track').first().scrollIntoViewIfNeeded();
      const row = (await page.locator('.wf-box tbody td.track').first().boundingBox())!;
      const y = row.y + row.height / 2;
      await page.mouse.move(track.x + track.width / 2, y);
      const ms = Number(/^([\d.]+) ms$/.exec((await page.locator('.wf-over text').textContent()) ?? '')?.[1]);
      expect(ms, panel).to.be.within(150, 190);
      await page.mouse.down();
      await page.mouse.move(track.x + track.width * 0.75, y, { steps: 3 });
      await page.mouse.up();
      await page.waitForURL(/panel=timeline.*from=/);
      const { searchParams } = new URL(page.url());
      expect(Number(searchParams.get('from')), panel).to.be.closeTo(ms, 1);
      expect(Number(searchParams.get('to')), panel).to.be.within(ms + 60, ms + 110);
      expect(await page.getByRole('link', { name: 'The whole request' }).count()).to.equal(1);
    }
    expect(problems).to.deep.equal([]);
  });

  it('opens the detail of a row beside it by keyboard, and leads on to its panel', async () => {
    const { page, problems } = await browser.open();
    await page.goto(timeline(busy));
    for (let step = 0; step < 5; step++) await page.keyboard.press('j');
    expect(await page.evaluate("document.activeElement.closest('tr').id")).to.equal('s4');
    await page.keyboard.press('Enter');
    const beside = page.locator('#row-detail');
    await beside.waitFor();
    expect(await beside.locator('pre').first().isVisible()).to.equal(true);
    expect(new URL(page.url()).searchParams.get('panel')).to.equal('timeline');
    await page.keyboard.press('Escape');
    expect(await beside.count()).to.equal(0);
    expect(await page.evaluate("document.activeElement.closest('tr').id")).to.equal('s4');
    await page.keyboard.press('Enter');
    await beside.getByRole('link', { name: 'Open in its panel' }).click();
    await page.waitForURL(/panel=database&open=q1#q1$/);
    expect(await page.locator('#q1').isVisible()).to.equal(true);
    expect(problems).to.deep.equal([]);
  });

  it('leads by link to the same without script', async () => {
    const { page } = await browser.open({ javaScriptEnabled: false });
    await page.goto(timeline(busy));
    await page.locator('.wf-box th a[href$="#q1"]').first().click();
    expect(await page.locator('#q1 details').getAttribute('open')).to.not.equal(null);
  });
});
