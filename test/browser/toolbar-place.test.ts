/** Where the bar stands, and that this is remembered. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import {
  previewWith,
  boxOf,
  focused,
  item,
  ITEMS,
  NARROW,
  useBarPages,
  wait,
  WIDE,
} from '../support/bar-pages.ts';
import { entryOf, shopPage, TOKEN } from '../support/toolbar-pages.ts';

describe("the toolbar's place", () => {
  const bar = useBarPages();
  const { open } = bar;

  const controls = ['Move', 'Fold', 'Close'];
  const control = (page: Page, name: string) =>
    page.locator('hindsight-toolbar .control').nth(controls.indexOf(name));

  async function corner(page: Page): Promise<string> {
    const { x, y, width } = await boxOf(page, '.root');
    return `${y < 400 ? 'top' : 'bottom'} ${x < 20 ? 'left' : x + width > 1400 ? 'right' : 'nowhere'}`;
  }

  beforeEach(() => {
    bar.host.entries[TOKEN] = [entryOf({ items: [], cameFrom: [] })];
  });

  it('is one of four corners, by its button and by keys, and is remembered', async () => {
    const { page } = await open();
    expect(await corner(page)).to.equal('bottom left');
    for (const expected of ['top left', 'top right', 'bottom right', 'bottom left']) {
      await control(page, 'Move').click();
      expect(await corner(page)).to.equal(expected);
    }
    await page.keyboard.press('Alt+Shift+KeyH');
    await page.keyboard.press('Alt+Shift+KeyH');
    await page.keyboard.press('Shift+ArrowUp');
    await page.keyboard.press('Shift+ArrowRight');
    expect(await corner(page)).to.equal('top right');
    await page.reload();
    await page.waitForFunction(`${ITEMS}.length > 0`);
    expect(await corner(page)).to.equal('top right');
  });

  it('keeps the preview inside the window, in every corner', async () => {
    bar.host.entries[TOKEN] = [entryOf()];
    // As wide as a narrow window, the bar is only above or below: the first two corners.
    for (const [viewport, corners] of [
      [WIDE, 4],
      [NARROW, 2],
    ] as const) {
      const { page } = await open('/', { viewport });
      for (let turn = 0; turn < corners; turn++) {
        for (const [text, words] of [
          ['200', 'src/orders/routes.ts:14'],
          ['memory', 'Heap used'],
        ] as const) {
          await item(page, text).hover();
          expect(await previewWith(page, words)).to.include(words);
          const { x, y, width, height } = await boxOf(page, '.pop');
          expect(
            [x >= 0, y >= 0, x + width <= viewport.width, y + height <= viewport.height],
            text,
          ).to.deep.equal([true, true, true, true]);
        }
        await control(page, 'Move').click();
      }
      await page.context().close();
    }
  });

  it('is folded to what is worst, and unfolds', async () => {
    const { page } = await open();
    await control(page, 'Fold').click();
    const chip = page.locator('hindsight-toolbar .chip');
    expect((await chip.innerText()).replace(/\s+/g, ' ')).to.equal('200 N+1');
    expect(await chip.getAttribute('aria-label')).to.equal('Unfold the toolbar: 200, N+1');
    expect((await boxOf(page, '.root')).width).to.be.below(120);
    await page.reload();
    await chip.waitFor();
    expect(await page.locator('hindsight-toolbar .line').isVisible()).to.equal(false);
    await chip.focus();
    await page.keyboard.press('Enter');
    expect(await focused(page)).to.include('200');
  });

  it('is nowhere when it is closed: then nothing is asked until Alt Shift H brings it back', async () => {
    const { page, problems } = await open();
    await control(page, 'Close').click();
    expect(await page.locator('hindsight-toolbar').count()).to.equal(0);
    await page.reload();
    bar.host.asked.length = 0;
    await wait(page, 1000);
    expect(await page.locator('hindsight-toolbar').count()).to.equal(0);
    expect(bar.host.asked.filter(({ path }) => path.endsWith('.json'))).to.deep.equal([]);
    await page.keyboard.press('Alt+Shift+KeyH');
    await page.waitForFunction(`${ITEMS}.length > 0`);
    await page.reload();
    await page.waitForFunction(`${ITEMS}.length > 0`);
    expect(problems).to.deep.equal([]);
  });

  it('holds for the page where the browser refuses storage', async () => {
    bar.host.pages['/'] = {
      body: shopPage({
        head: `<script>Object.defineProperty(window, 'localStorage', { get() { throw new Error('refused'); } })</script>`,
      }),
    };
    const { page, problems } = await open();
    await control(page, 'Move').click();
    expect(await corner(page)).to.equal('top left');
    expect(problems).to.deep.equal([]);
  });
});
