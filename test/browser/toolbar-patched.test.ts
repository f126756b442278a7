/** The bar in pages whose libraries put their own in the place of what the language and the browser have. */
import { expect } from 'chai';
import type { Request } from 'playwright-core';
import { item, ITEMS, previewWith, texts, useBarPages, wait } from '../support/bar-pages.ts';
import { shopPage } from '../support/toolbar-pages.ts';
import { until } from '../support/waiting.ts';

/** Told to the page: what its own error reporting would send home. */
const HEAR = `window.told = []; onerror = (message) => told.push(message); onunhandledrejection = ({ reason }) => told.push(String(reason));`;

/** As it stands in Prototype.js 1.6 and 1.7. */
const OLD = `Array.from = function $A(iterable) {
    if (!iterable) return [];
    if ('toArray' in Object(iterable)) return iterable.toArray();
    var length = iterable.length || 0, results = new Array(length);
    while (length--) results[length] = iterable[length];
    return results;
  };
  Array.prototype.toJSON = function () { return '[' + this.join(', ') + ']'; };
  Array.prototype.reduce = function () { return this.length > 1 ? this : this[0]; };
  Array.prototype.each = Object.prototype.extend = String.prototype.strip = Function.prototype.wrap = function () {};`;
/** With which no bar can be drawn. */
const BROKEN: Record<string, string> = {
  'attachShadow fails': `Element.prototype.attachShadow = function () { throw new Error('no shadow'); };`,
  'append fails': `Element.prototype.append = function () { throw new Error('no append'); };`,
  'there is no MutationObserver': `window.MutationObserver = undefined;`,
  'performance tells nothing': `window.PerformanceObserver = performance.getEntriesByType = undefined;`,
  'nobody may listen': `window.addEventListener = document.addEventListener = function () { throw new Error('no listening'); };`,
};

describe('the toolbar in pages of old libraries', () => {
  const bar = useBarPages();
  const { open } = bar;

  function patch(script: string, path = '/'): void {
    bar.host.pages[path] = { body: shopPage({ head: `<script>${HEAR}${script}</script>` }) };
  }

  it('works beside Prototype.js', async () => {
    patch(OLD);
    const { page, problems } = await open();
    await page.keyboard.press('Alt+Shift+KeyH');
    for (const key of ['ArrowRight', 'ArrowRight', 'ArrowRight']) await page.keyboard.press(key);
    expect(await previewWith(page, 'select *')).to.include('select * from items');
    expect((await texts(page)).length).to.be.above(9);
    expect(
      await page.evaluate(`${ITEMS}.filter((item) => item.getAttribute('tabindex') === '0').length`),
    ).to.equal(1);
    await item(page, 'time').hover();
    expect(await previewWith(page, '182.6 ms')).to.include('182.6 ms');
    let sent: Request | undefined;
    await until(async () => {
      sent = (await page.requests()).find((request) => request.url().endsWith('/-/report'));
      return sent !== undefined;
    }, 'the toolbar sent what it measured');
    const { timing } = JSON.parse(sent?.postData() ?? '') as { timing: { longTasks: unknown } };
    expect(timing.longTasks).to.be.an('array');
    expect(await page.evaluate('told')).to.deep.equal([]);
    expect(problems).to.deep.equal([]);
  });

  it('stays away without a word where the page took from it what it needs', async () => {
    const pages = Object.entries(BROKEN).map(async ([name, script], index) => {
      patch(script, `/${index}`);
      const { page, problems } = await open(`/${index}`, { without: true });
      await wait(page, 1000);
      await page.keyboard.press('Alt+Shift+KeyH');
      await wait(page, 1200);
      expect(await texts(page), name).to.deep.equal([]);
      expect(await page.evaluate('told'), name).to.deep.equal([]);
      expect(problems, name).to.deep.equal([]);
    });
    await Promise.all(pages);
  });
});
