/** Every page over hostile text in a real browser: nothing is wider than the window, nothing runs. */
import axe from 'axe-core';
import { expect } from 'chai';
import { launchBrowser, type TestBrowser } from '../support/browser.ts';
import { everyPage, openWorld } from '../support/every-page.ts';
import { HOSTILE } from '../support/page-samples.ts';

const WIDEST = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
/** The elements that reach to where the page ends, outermost first. */
const WIDE_ELEMENTS = `[...document.body.querySelectorAll('*')]
  .filter((element) => Math.abs(element.getBoundingClientRect().right - document.documentElement.scrollWidth) < 2)
  .slice(0, 4)
  .map((element) => element.tagName + '.' + element.className)
  .join(' > ')`;

/** What axe-core finds, one sentence each. */
const VIOLATIONS = `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
  violations.flatMap(({ id, nodes }) => nodes.map(({ target, html }) => id + ': ' + target.join(' ') + ' ' + html.slice(0, 120))))`;

describe('pages over hostile text in a browser', () => {
  let browser: TestBrowser | undefined;

  before(async function () {
    browser = await launchBrowser(this);
  });
  after(() => browser?.close());

  for (const kind of ['endless', 'rightToLeft', 'markup'] as const) {
    it(`are no wider than 390 px with text of kind "${kind}"`, async () => {
      const world = await openWorld(HOSTILE[kind]);
      const { page, problems } = await browser!.open({ viewport: { width: 390, height: 900 } });
      const wide: string[] = [];
      try {
        await page.goto(`${world.server.address}/_profiler/`);
        for (const sample of everyPage.filter(({ fragment }) => fragment !== true)) {
          await page.setContent(await sample.html(world));
          const by = await page.evaluate(WIDEST);
          if (by !== 0)
            wide.push(`${sample.name} by ${String(by)} px: ${String(await page.evaluate(WIDE_ELEMENTS))}`);
        }
      } finally {
        await page.context().close();
        await world.close();
      }
      expect(wide).to.deep.equal([]);
      expect(problems).to.deep.equal([]);
    });
  }

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`give axe-core nothing to say with text of every kind, ${colorScheme}`, async () => {
      const world = await openWorld(
        `${HOSTILE.markup} ${HOSTILE.rightToLeft} ${HOSTILE.template} ${'x'.repeat(400)}`,
      );
      const { page } = await browser!.open({ viewport: { width: 1440, height: 900 }, colorScheme });
      const found: string[] = [];
      try {
        await page.goto(`${world.server.address}/_profiler/`);
        for (const sample of everyPage.filter(({ fragment }) => fragment !== true)) {
          await page.setContent(await sample.html(world));
          await page.evaluate(axe.source);
          const violations = await page.evaluate<string[]>(VIOLATIONS);
          found.push(...violations.map((violation) => `${sample.name}: ${violation}`));
        }
      } finally {
        await page.context().close();
        await world.close();
      }
      expect(found).to.deep.equal([]);
    });
  }
});
