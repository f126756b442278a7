/** The bar in a real browser: what it says, and how it is used by keyboard, touch and pointer. What the service says is made here. */
import { expect } from 'chai';
import {
  previewWith,
  focused,
  item,
  ITEMS,
  NARROW,
  preview,
  ROOT,
  texts,
  useBarPages,
  wait,
  WIDE,
} from '../support/bar-pages.ts';
import { entryOf, shopPage, TOKEN } from '../support/toolbar-pages.ts';

describe('the toolbar', () => {
  const bar = useBarPages();
  const { open } = bar;

  it('says in one line what the request did, the worst first, and leaves out what there is none of', async () => {
    const { page, problems } = await open();
    expect((await texts(page)).map((text) => text.replace(/\s+/g, ' '))).to.deep.equal([
      '200 /orders/:id',
      'N+1 +2',
      'time 314 ms',
      'queries N+1 · 23',
      'logs 2 warn · 6',
      'outgoing 1 · 40.1 ms',
      'dump 1',
      'migrations 2 pending',
      '302 from POST /orders',
      'views 4',
      'memory 64.2 MiB',
    ]);
    expect(await page.evaluate(`${ITEMS}[3].pathname + ${ITEMS}[3].search`)).to.equal(
      `/_profiler/${TOKEN}?panel=database`,
    );
    const asked = bar.host.asked.filter(({ path }) => path.endsWith('toolbar.json'));
    expect(asked.map(({ headers }) => headers['x-hindsight-toolbar'])).to.deep.equal(['1']);
    expect(problems).to.deep.equal([]);

    bar.host.entries[TOKEN] = [
      entryOf({ findings: [], moreFindings: 0, items: [], cameFrom: [], parts: [] }),
    ];
    await page.reload();
    await page.waitForFunction(`${ITEMS}.length > 0`);
    expect(await texts(page)).to.have.length(2);
  });

  it('opens a preview where the pointer rests, keeps it while the pointer is on it, and Escape sends it away', async () => {
    const { page } = await open();
    await item(page, 'queries').hover();
    expect(await previewWith(page, 'select *'))
      .to.include('select * from items')
      .and.to.include('18 × 142.1 ms');
    expect(await preview(page)).to.include('Open Database');
    await page.locator('hindsight-toolbar .pop').hover();
    await wait(page);
    expect(await preview(page)).not.to.equal(null);
    await page.keyboard.press('Escape');
    expect(await preview(page)).to.equal(null);
    await item(page, 'time').hover();
    expect(await previewWith(page, '182.6 ms')).to.match(/database\s+182.6 ms\s+58 %/);
    await page.mouse.move(700, 100);
    expect(await previewWith(page, null)).to.equal(null);
  });

  it('leads by the keyboard through items and previews in one stop of the page, and out again', async () => {
    const { page } = await open();
    await page.keyboard.press('Tab');
    expect(await focused(page)).to.equal('Back to the shop');
    await page.keyboard.press('Tab');
    expect(await focused(page)).to.include('200');
    expect(await preview(page)).to.include('src/orders/routes.ts:14');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    expect(await focused(page)).to.include('queries');
    expect(await preview(page)).to.include('select * from items');
    await page.keyboard.press('Tab');
    expect(await focused(page)).to.include('select * from items');
    await wait(page, 500);
    expect(await preview(page), 'stays while the focus is in it').not.to.equal(null);
    await page.keyboard.press('Escape');
    expect(await preview(page)).to.equal(null);
    expect(await focused(page), 'the focus is where it came from').to.include('queries');
    await page.keyboard.press('End');
    expect(await focused(page)).to.include('Close the toolbar');
    await page.keyboard.press('ArrowRight');
    expect(await focused(page)).to.include('200');
    await page.keyboard.press('Shift+Tab');
    expect(await focused(page)).to.equal('Back to the shop');
    expect(await previewWith(page, null)).to.equal(null);
  });

  it('shows what stands beside a row whole or cut by words, never by its edge', async () => {
    const href = `/_profiler/${TOKEN}?panel=database`;
    const text = 'select … from orders';
    const notes = [
      '1.8 ms, 20 rows, examples/shop/orders.ts:49',
      'x'.repeat(200),
      `${'wide '.repeat(40)}end`,
    ];
    const rows = notes.map((note) => ({ text, note, tone: 'plain', href }));
    rows.push({ text: 'y'.repeat(200), note: notes[1] ?? '', tone: 'plain', href });
    const preview = { facts: [], rows, more: 0 };
    const database = {
      panel: 'database',
      rank: 20,
      label: 'queries',
      title: 'Database',
      text: '3',
      tone: 'plain',
      href,
      preview,
    };
    bar.host.entries[TOKEN] = [entryOf({ items: [database] })];
    for (const viewport of [WIDE, NARROW]) {
      const { page } = await open('/', { viewport });
      await item(page, 'queries').hover();
      await page.locator('hindsight-toolbar .pop').waitFor();
      const outside = await page.evaluate(`(() => {
        const pop = ${ROOT}.querySelector('.pop');
        const { left, right } = pop.getBoundingClientRect();
        return [...pop.querySelectorAll('.note, .what')].filter((part) => {
          const box = part.getBoundingClientRect();
          return part.scrollWidth > part.clientWidth + 1 || box.left < left || box.right > right;
        }).length + (pop.scrollWidth > pop.clientWidth ? 1000 : 0); })()`);
      expect(outside, String(viewport.width)).to.equal(0);
    }
  });

  it('opens the panel of an item by a click, and by Enter', async () => {
    const { page } = await open();
    await item(page, 'logs').click();
    await page.waitForURL(`**/_profiler/${TOKEN}?panel=logs`);
    await page.goto(`${bar.host.origin}/`);
    await page.waitForFunction(`${ITEMS}.length > 0`);
    await page.keyboard.press('Alt+Shift+KeyH');
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/_profiler/${TOKEN}`);
  });

  it('opens the preview by the first tap, the panel by the second, and closes by a tap beside it', async () => {
    const { page } = await open('/', { viewport: NARROW, hasTouch: true, isMobile: true });
    await item(page, 'queries').tap();
    expect(await preview(page)).to.include('select * from items');
    expect(page.url()).to.equal(`${bar.host.origin}/`);
    await page.touchscreen.tap(200, 200);
    expect(await preview(page)).to.equal(null);
    await item(page, 'queries').tap();
    await item(page, 'queries').tap();
    await page.waitForURL(`**/_profiler/${TOKEN}?panel=database`);
  });

  it('keeps to itself what happens in it', async () => {
    bar.host.pages['/'] = {
      body: shopPage({
        head: `<script>window.heard = []; for (const type of ['click', 'keydown', 'pointerdown', 'focusin'])
          document.addEventListener(type, (event) => heard.push(type + ' ' + event.target.localName));</script>`,
      }),
    };
    const { page } = await open();
    await page.locator('hindsight-toolbar .control').first().click();
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('j');
    expect(await page.evaluate('heard')).to.deep.equal([]);
    await page.locator('h1').click();
    expect(await page.evaluate('heard')).to.include('click h1');
  });
});
