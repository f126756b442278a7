/** Every page over hostile text in a real browser: nothing is wider than the window, nothing runs. */
import { expect } from 'chai';
import { violations } from '../support/axe.ts';
import { useBrowser } from '../support/browser.ts';
import { everyPage, openWorld } from '../support/every-page.ts';
import { HOSTILE } from '../support/page-samples.ts';

const WIDEST = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
/** The elements that reach to where the page ends, outermost first. */
const WIDE_ELEMENTS = `[...document.body.querySelectorAll('*')]
  .filter((element) => Math.abs(element.getBoundingClientRect().right - document.documentElement.scrollWidth) < 2)
  .slice(0, 4)
  .map((element) => element.tagName + '.' + element.className)
  .join(' > ')`;

/** Pages that no other test gives to axe-core: accessibility.test.ts has the others, of the same elements (views/hostile.test.ts). */
const ASKED_HERE =
  /^(panel (overview|cpu|graphql|cache|mail|jobs|processes|spans)|timeline, a part of it|logs, .*|health)$/;

describe('pages over hostile text in a browser', () => {
  const browser = useBrowser();

  /** Endless text is cut where it is shown (views/hostile.test.ts): a long one is as wide. */
  const text = `${HOSTILE.markup} ${HOSTILE.rightToLeft} ${HOSTILE.template} ${'x'.repeat(1000)}`;

  it('are no wider than 390 px, and give axe-core nothing to say', async () => {
    const world = await openWorld(text);
    const { page, problems } = await browser.open();
    const wide: string[] = [];
    const found: string[] = [];
    try {
      await page.goto(`${world.server.address}/_profiler/`);
      for (const sample of everyPage.filter(({ fragment }) => fragment !== true)) {
        await page.setViewportSize({ width: 390, height: 900 });
        await page.setContent(await sample.html(world));
        const by = await page.evaluate(WIDEST);
        if (by !== 0)
          wide.push(`${sample.name} by ${String(by)} px: ${String(await page.evaluate(WIDE_ELEMENTS))}`);
        if (!ASKED_HERE.test(sample.name)) continue;
        await page.setViewportSize({ width: 1440, height: 900 });
        // What lies around a panel is asked of the others.
        const within = sample.name.startsWith('panel ') ? { within: 'main' } : {};
        const faults = await violations(page, within);
        found.push(...faults.map((violation) => `${sample.name}: ${violation}`));
      }
    } finally {
      await page.context().close();
      await world.close();
    }
    expect(wide).to.deep.equal([]);
    expect(found).to.deep.equal([]);
    expect(problems).to.deep.equal([]);
  });
});
