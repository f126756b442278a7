/** What is touched on a narrow page is at least 24 px high and wide (WCAG 2.5.8) and lies beside its neighbours; a wide page has two columns. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { useBrowser } from '../support/browser.ts';
import { everyPage, openWorld, type PageWorld } from '../support/every-page.ts';
import { urls } from '../../app/urls.ts';

const SMALLEST = 24;

/** Runs in the page: what is too small, and what overlaps, each with its text. */
const MEASURE = `(() => {
  for (const fold of document.querySelectorAll('details')) fold.open = true;
  const visible = (element) =>
    element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && !element.matches('.skip');
  const targets = [...document.querySelectorAll('a[href], button, summary, input:not([type=hidden]), select')]
    .filter((element) => visible(element) && element.closest('svg, dialog') === null)
    .map((element) => ({ element, boxes: [...element.getClientRects()].filter(({ width, height }) => width > 0 && height > 0) }))
    .filter(({ boxes }) => boxes.length > 0);
  const nameOf = ({ element }) =>
    (element.closest('section, nav, header, footer, table')?.className ?? '') + ' ' + element.tagName + '.' + element.className + ' ' +
    (element.textContent.trim() || element.getAttribute('aria-label') || element.name).slice(0, 30);
  const small = targets.filter(({ element }) => {
    const { width, height } = element.getBoundingClientRect();
    return width < ${SMALLEST} - 0.1 || height < ${SMALLEST} - 0.1;
  });
  const meet = (a, b) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
  const overlaps = targets.flatMap((one, index) =>
    targets
      .slice(index + 1, index + 60)
      .filter((other) => !one.element.contains(other.element) && one.boxes.some((a) => other.boxes.some((b) => meet(a, b))))
      .map((other) => nameOf(one) + ' and ' + nameOf(other)),
  );
  // Rows of such a table stand as lines, without its head.
  const unnamed = [...document.querySelectorAll('.stack td.num:not(:first-child)')].filter(
    (cell) => /^[\\d,]+$/.test(cell.textContent.trim()) && getComputedStyle(cell, '::before').content === 'none',
  );
  return { small: small.map(nameOf), overlaps, unnamed: unnamed.map((cell) => cell.closest('tr').textContent), count: targets.length };
})()`;

describe('what is touched', () => {
  const browser = useBrowser();
  let world: PageWorld;
  /** Shared: to start a page costs more than to look at one. */
  let narrow: Page;
  let body = '';

  before(async () => {
    // A text that is a place wherever one may stand.
    world = await openWorld('src/orders.ts:7');
    ({ page: narrow } = await browser.open({ viewport: { width: 390, height: 844 } }));
    // Served by the world, so that styles and scripts are those of the page.
    await narrow.route('**/looked-at', (route) => route.fulfill({ body, contentType: 'text/html' }));
  });
  after(async () => {
    await world?.close();
  });

  for (const { name, html, fragment } of everyPage)
    if (fragment !== true)
      it(`is large enough, overlaps nothing, and numbers say what they are, at 390 px: ${name}`, async () => {
        body = await html(world);
        await narrow.goto(`${world.server.address}/_profiler/looked-at`);
        const { small, overlaps, unnamed, count } = await narrow.evaluate<{
          small: string[];
          overlaps: string[];
          unnamed: string[];
          count: number;
        }>(MEASURE);
        expect(count).to.be.above(3);
        expect(small, 'too small').to.deep.equal([]);
        expect(overlaps, 'overlap').to.deep.equal([]);
        expect(unnamed, 'numbers without their heading').to.deep.equal([]);
      });

  it('folds the filters of the list at 390 px, unless one is set, so that the requests begin in its upper half', async () => {
    const method = narrow.getByLabel('Method');
    await narrow.goto(world.server.address + urls.search());
    const row = await narrow.locator('#found tbody tr').first().boundingBox();
    expect(row?.y).to.be.below(844 / 2);
    expect(await method.isVisible()).to.equal(false);
    await narrow.getByText('More filters').click();
    expect(await method.isVisible()).to.equal(true);
    await narrow.goto(`${world.server.address}${urls.search()}?status=2xx`);
    expect(await method.isVisible()).to.equal(true);
  });

  it('stands in two columns at 2560 px where a panel has names and values', async () => {
    const { page } = await browser.open({ viewport: { width: 2560, height: 1440 } });
    await page.goto(world.server.address + urls.profile(world.token, 'request'));
    const lefts = await page.evaluate<number[]>(
      `[...document.querySelectorAll('main > .section')].map((section) => Math.round(section.getBoundingClientRect().left))`,
    );
    expect(new Set(lefts).size).to.equal(2);
    const over = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
    expect(await page.evaluate<number>(over)).to.equal(0);
  });
});
