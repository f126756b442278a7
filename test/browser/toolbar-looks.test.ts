/** The bar in pages that style everything, on small windows, and by the measures of browsers and axe-core. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { violations } from '../support/axe.ts';
import {
  previewWith,
  boxOf,
  focused,
  item,
  ITEMS,
  NARROW,
  preview,
  ROOT,
  useBarPages,
  wait,
  WIDE,
  type Box,
} from '../support/bar-pages.ts';
import { entryOf, serveToolbar, shopPage, TOKEN } from '../support/toolbar-pages.ts';

/** Until the bar has drawn all that it hears of: a busy browser tells late of what it loaded. */
async function settled(page: Page): Promise<void> {
  const drawn = (): Promise<string> => page.evaluate(`${ROOT}.innerHTML`);
  for (let turn = 0, before = ''; turn < 100; turn++) {
    const now = await drawn();
    if (now === before) return;
    before = now;
    await wait(page, 500);
  }
}

describe("the toolbar's looks", () => {
  const bar = useBarPages();
  const { open } = bar;

  describe('in a page that styles everything', () => {
    const styles: Record<string, string> = {
      'hides and shouts': `body, body *, hindsight-toolbar, html > :not(head, body) { display: none !important; visibility: hidden !important;
        opacity: 0 !important; transform: scale(9) !important; font-size: 99px !important; color: red !important; --ink: red !important;
        pointer-events: none !important; z-index: -1 !important; position: static !important }`,
      'unsets all': `* { all: unset !important } div, section, a, button, span { all: unset !important; display: block !important }`,
      'has huge fonts': `html { font: 900 60px/3 fantasy } * { letter-spacing: 20px; word-spacing: 3em; text-transform: uppercase; font-size: 60px }`,
      'zooms its body': `body { zoom: 2.5; transform: rotate(3deg); overflow: hidden; height: 100vh }`,
      'animates everything': `body, body *, hindsight-toolbar { animation: spin 1s infinite !important; transition: all 5s !important } @keyframes spin { to { transform: rotate(360deg) } }`,
      'draws above all': `main { position: fixed; inset: 0; z-index: 2147483647; background: #fff }`,
      'is dark': `:root { color-scheme: dark } body { background: #000; color: #eee }`,
    };

    /** What decides how it looks, of each thing in it. */
    const look = (page: Page): Promise<unknown> =>
      page.evaluate(`[...${ROOT}.querySelectorAll('*')].map((element) => {
        const { display, color, fontSize, fontWeight, lineHeight, letterSpacing, textTransform, backgroundColor, visibility, direction,
          animationName, transitionDuration } = getComputedStyle(element);
        const { width, height, left } = element.getBoundingClientRect();
        return [element.localName, element.className.baseVal ?? element.className, display, color, fontSize, fontWeight, lineHeight, letterSpacing,
          textTransform, backgroundColor, visibility, direction, animationName, transitionDuration, Math.round(width), Math.round(height), Math.round(left)].join(' ');
      })`);

    let expected: unknown;
    before(async () => {
      const host = await serveToolbar();
      const { page } = await bar.browser.open({ viewport: WIDE });
      await page.goto(`${host.origin}/`);
      await page.locator('hindsight-toolbar .item').first().waitFor({ state: 'attached' });
      expected = await look(page);
      await page.context().close();
      await host.close();
    });

    for (const [name, css] of Object.entries(styles))
      it(`looks and works as in any other: ${name}`, async () => {
        bar.host.pages['/hostile'] = { body: shopPage({ head: `<style>${css}</style>` }) };
        const { page, problems } = await open('/hostile');
        expect(await look(page)).to.deep.equal(expected);
        await item(page, 'queries').hover();
        expect(await previewWith(page, 'select *')).to.include('select * from items');
        expect(problems).to.deep.equal([]);
      });

    it('looks and works as in any other: from right to left', async () => {
      bar.host.pages['/rtl'] = { body: shopPage({ html: 'lang="ar" dir="rtl"' }) };
      const { page } = await open('/rtl');
      expect(await look(page)).to.deep.equal(expected);
    });

    it('shows its colours where the system forces them', async () => {
      const { page } = await open('/', { forcedColors: 'active' });
      expect((await boxOf(page, '.line')).height).to.be.within(28, 40);
      expect(
        await page.evaluate(`getComputedStyle(${ROOT}.querySelector('.parts')).forcedColorAdjust`),
      ).to.equal('none');
    });

    it('is not printed', async () => {
      const { page } = await open();
      await page.emulateMedia({ media: 'print' });
      expect(await page.locator('hindsight-toolbar').isVisible()).to.equal(false);
      expect((await boxOf(page, '.line')).height).to.equal(0);
    });
  });

  it('shifts nothing of the page and makes it no wider, at 390 px, whatever comes to it', async () => {
    bar.host.entries[TOKEN] = [entryOf({ state: 'running', durationMs: null, items: [] }), entryOf()];
    bar.host.pages['/api'] = { body: '{}', type: 'application/json' };
    for (const viewport of [WIDE, NARROW]) {
      const { page } = await open('/', { viewport });
      await page.evaluate(`window.shifts = []; new PerformanceObserver((list) => window.shifts.push(...list.getEntries()
        .map(({ value, sources }) => ({ value, what: sources.map(({ node }) => node?.outerHTML ?? node?.data ?? null) })))).observe({ type: 'layout-shift', buffered: true });`);
      await page.waitForFunction(`${ITEMS}.length > 9`);
      await page.evaluate(`Promise.all(Array.from({ length: 12 }, (_, at) => fetch('/api?' + at)))`);
      await settled(page);
      for (const text of ['200', 'queries', '302', 'calls']) {
        await item(page, text).first().hover();
        await wait(page, 300);
      }
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).to.equal(0);
      const shifts = await page.evaluate<{ value: number; what: (string | null)[] }[]>('window.shifts');
      // What is inside of the bar has no name here: on a slow machine its items move when others come late.
      const ofPage = shifts.flatMap(({ what }) => what).filter((node) => node !== null);
      expect(ofPage).to.deep.equal([]);
      expect(shifts.reduce((total, { value }) => total + value, 0)).to.be.below(0.01);
      const { width, x } = await boxOf(page, '.root');
      expect(x + width).to.be.at.most(viewport.width);
      bar.host.entries[TOKEN] = [entryOf({ state: 'running', durationMs: null, items: [] }), entryOf()];
    }
  });

  it('is not taken for what the page painted, where its own paint is the largest', async () => {
    const { page } = await bar.browser.open({ viewport: WIDE });
    const told = page.waitForRequest((request) => request.url().endsWith('/-/report'));
    await page.goto(`${bar.host.origin}/`);
    await item(page, 'N+1').first().hover();
    await page.locator('hindsight-toolbar .pop').waitFor();
    await wait(page, 300);
    const paints = await page.evaluate<
      { at: number; own: boolean }[]
    >(`new Promise((resolve) => new PerformanceObserver((list) =>
      resolve(list.getEntries().map(({ startTime, element }) => ({ at: startTime, own: element === null })))
    ).observe({ type: 'largest-contentful-paint', buffered: true }))`);
    const body = (await told).postDataJSON() as { timing: { lcp: number } };
    expect(paints.map(({ own }) => own)).to.deep.equal([false, true]);
    expect(body.timing.lcp).to.be.closeTo(paints[0]!.at, 0.1);
  });

  it('scrolls inside itself at 390 px, its buttons always in sight', async () => {
    const { page } = await open('/', { viewport: NARROW, hasTouch: true, isMobile: true });
    await item(page, 'memory').scrollIntoViewIfNeeded();
    const box = (await item(page, 'memory').boundingBox())!;
    expect(box.x + box.width).to.be.below(NARROW.width);
    await page.keyboard.press('Alt+Shift+KeyH');
    for (const key of ['End', 'ArrowLeft', 'ArrowLeft', 'ArrowLeft', 'ArrowLeft', 'ArrowLeft']) {
      await page.keyboard.press(key);
      const line = await boxOf(page, '.items');
      const at = await page.evaluate<Box>(
        `(({ x, width }) => ({ x, width }))(${ROOT}.activeElement.getBoundingClientRect())`,
      );
      if (!(await focused(page)).includes('toolbar'))
        expect([at.x >= line.x - 1, at.x + at.width <= line.x + line.width + 1]).to.deep.equal([true, true]);
    }
    const close = (await page.locator('hindsight-toolbar .control').last().boundingBox())!;
    expect(close.x + close.width).to.be.below(NARROW.width);
    expect([close.width >= 24, close.height >= 24]).to.deep.equal([true, true]);
  });

  it('gives axe-core nothing to say, light and dark, with each kind of preview open, and hides no fault of the page', async () => {
    const faults = '<div role="banner"><img src="/none.png"><input></div>';
    bar.host.pages['/faulty'] = { body: shopPage({ body: faults }) };
    bar.host.pages['/faulty-bare'] = { body: shopPage({ body: faults, tag: '' }) };
    bar.host.pages['/none.png'] = { body: '', type: 'image/png' };
    const bare = await open('/faulty-bare', { without: true });
    const withBar = await open('/faulty');
    const expected = await violations(bare.page);
    expect(expected).not.to.deep.equal([]);
    expect(await violations(withBar.page)).to.deep.equal(expected);
    // Request, findings, times and queries: the rows of the others have the same classes. Dark has other values of the same variables.
    for (const [colorScheme, viewport, asked, previews] of [
      ['light', WIDE, {}, 4],
      ['dark', NARROW, { only: 'colours' }, 2],
    ] as const) {
      const { page } = await open('/', { colorScheme, viewport });
      expect(await violations(page, asked)).to.deep.equal([]);
      await page.keyboard.press('Alt+Shift+KeyH');
      for (let at = 0; at < previews; at++) {
        await page.keyboard.press('ArrowRight');
        expect(await preview(page)).not.to.equal(null);
        expect(await violations(page, asked), `${colorScheme}, preview ${at}`).to.deep.equal([]);
      }
    }
  });
});
