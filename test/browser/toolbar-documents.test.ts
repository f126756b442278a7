/** The bar in all kinds of documents, and in such as are changed under it. */
import { expect } from 'chai';
import { BARS, item, ITEMS, previewWith, texts, useBarPages, wait, WIDE } from '../support/bar-pages.ts';
import { entryOf, shopPage, TAG } from '../support/toolbar-pages.ts';
import { until } from '../support/waiting.ts';

/** A text that is given out later. */
class Gate {
  open: (text: string) => void = () => undefined;
  readonly passed = new Promise<string>((resolve) => {
    this.open = resolve;
  });
}

describe('the toolbar in documents', () => {
  const bar = useBarPages();
  const { open } = bar;

  it('is not in frames', async () => {
    bar.host.pages['/outer'] = {
      body: shopPage({ tag: '', body: '<iframe src="/" title="inner"></iframe>' }),
    };
    const { page, problems } = await open('/outer', { without: true });
    await wait(page, 600);
    const inner = page.frames()[1]!;
    expect(await inner.evaluate("document.querySelector('hindsight-toolbar')")).to.equal(null);
    expect(bar.host.asked.filter(({ path }) => path.endsWith('.json'))).to.deep.equal([]);
    expect(problems).to.deep.equal([]);
  });

  it('is in XHTML documents too, and not in drawings', async () => {
    const xml = (body: string): string =>
      body.replace(/async /, 'async="" ').replace('data-hindsight', 'data-hindsight=""');
    bar.host.pages['/xhtml'] = {
      type: 'application/xhtml+xml',
      body: `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body><h1>x</h1>${xml(TAG)}</body></html>`,
    };
    bar.host.pages['/drawing'] = {
      type: 'image/svg+xml',
      body: `<svg xmlns="http://www.w3.org/2000/svg"><script href="/_profiler/toolbar.js"/><rect width="9" height="9"/></svg>`,
    };
    const { page, problems } = await open('/xhtml');
    await item(page, 'queries').hover();
    expect(await previewWith(page, 'select *')).to.include('select * from items');
    await page.goto(`${bar.host.origin}/drawing`);
    await wait(page, 300);
    expect(await page.evaluate("document.querySelector('hindsight-toolbar')")).to.equal(null);
    expect(problems).to.deep.equal([]);
  });

  it('is above the frames of a frameset', async () => {
    bar.host.pages['/inner'] = { body: '<!doctype html><title>inner</title><p>inner' };
    bar.host.pages['/frames'] = {
      body: `<!doctype html><html><head>${TAG}<title>x</title></head><frameset cols="*,*"><frame src="/inner"><frame src="/inner"></frameset></html>`,
    };
    const { page, problems } = await open('/frames');
    await item(page, 'queries').hover();
    expect(await previewWith(page, 'select *')).to.include('select * from items');
    expect(problems).to.deep.equal([]);
  });

  it('waits for the body of a page, but not for the end of one that takes long', async () => {
    const [first, last] = [new Gate(), new Gate()];
    bar.host.pages['/slow'] = {
      body: `<!doctype html><html><head>${TAG}<title>x</title>`,
      rest: first.passed,
    };
    bar.host.pages['/slow.css'] = { body: '', type: 'text/css', rest: last.passed };
    const { page, problems } = await bar.browser.openFresh({ viewport: WIDE });
    await page.clock.install();
    const isLoaded = page.goto(`${bar.host.origin}/slow`);
    await page.waitForResponse('**/_profiler/toolbar.js');
    const isHooked = "fetch.toString() === 'function () { [native code] }'";
    await until(() => page.evaluate<boolean>(isHooked), 'the script of the bar');
    const children = (): Promise<string> =>
      page.evaluate('[...document.documentElement.children].map((child) => child.localName).join()');
    await page.clock.runFor(5000);
    expect(await children()).to.equal('head');
    first.open('<body><p>x<link rel="stylesheet" href="/slow.css"></body></html>');
    await page.locator('p').waitFor({ state: 'attached' });
    await page.clock.runFor(200);
    await page.locator('hindsight-toolbar .item').first().waitFor({ state: 'attached' });
    expect(await children()).to.equal('head,body,hindsight-toolbar');
    expect(await page.evaluate('document.readyState')).not.to.equal('complete');
    last.open('');
    await isLoaded;
    expect(problems).to.deep.equal([]);
  });

  it('stays when the body is emptied or replaced', async () => {
    const { page, problems } = await open();
    await page.evaluate(
      "document.body.innerHTML = ''; document.body.replaceWith(document.createElement('body'))",
    );
    await page.waitForFunction(`${ITEMS}.length > 5`);
    await wait(page, 200);
    expect((await texts(page)).length).to.be.above(5);
    expect(problems).to.deep.equal([]);
  });

  it('comes back once when everything is thrown out, and then stays away', async () => {
    const { page, problems } = await open();
    await page.evaluate("document.documentElement.innerHTML = '<body>new</body>'");
    await page.waitForFunction(`${BARS} === 1`);
    await page.evaluate("document.documentElement.innerHTML = '<body>newer</body>'");
    await wait(page, 300);
    expect(await page.evaluate(BARS)).to.equal(0);
    await page.keyboard.press('Alt+Shift+KeyH');
    expect(await page.evaluate(BARS)).to.equal(1);
    expect(problems).to.deep.equal([]);
  });

  it('bears a document that is written anew, with and without a tag', async () => {
    const { page, problems } = await open();
    await page.evaluate(
      "document.open(); document.write('<title>written</title><p>written'); document.close();",
    );
    await wait(page, 400);
    expect(await page.evaluate(BARS)).to.be.at.most(1);
    await page.evaluate(
      `document.open(); document.write(${JSON.stringify(`<p>again${TAG.replace('</', '<\\/')}`).replaceAll('<\\\\/', '<\\/')}); document.close();`,
    );
    await page.waitForFunction(`${ITEMS}.length > 5`);
    await wait(page, 400);
    expect(await page.evaluate(BARS)).to.equal(1);
    expect(problems).to.deep.equal([]);
  });

  it('takes the token of a second tag, and keeps what was before', async () => {
    bar.host.entries.abcdef = [entryOf({ token: 'abcdef', route: '/cart', url: '/cart', cameFrom: [] })];
    const { page, problems } = await open();
    await page.evaluate(`(() => { const script = document.createElement('script'); script.src = '/_profiler/toolbar.js';
      script.dataset.token = 'abcdef'; document.body.append(script); })()`);
    await page.waitForFunction(`${ITEMS}[0].innerText.includes('/cart')`);
    expect(await page.evaluate(BARS)).to.equal(1);
    expect((await texts(page)).map((text) => text.replace(/\s+/g, ' '))).to.include(
      'after GET /orders/4712?tab=items',
    );
    expect(problems).to.deep.equal([]);
  });

  it('is as it was when the page comes back', async () => {
    bar.host.pages['/next'] = { body: shopPage({ tag: '' }) };
    const { page, problems } = await open();
    await page.goto(`${bar.host.origin}/next`);
    await page.goBack();
    await page.waitForFunction(`${ITEMS}.length > 5`);
    await item(page, 'queries').hover();
    expect(await previewWith(page, 'select *')).to.include('select * from items');
    expect(problems).to.deep.equal([]);
  });
});
