/**
 * The bar in a real browser: keyboard, touch and pointer, on pages made to break it, and what it leaves untouched of the page. What
 * the service says is made here (test/support/toolbar-pages.ts).
 */
import axe from 'axe-core';
import { expect } from 'chai';
import { transformSync } from 'esbuild';
import { Script } from 'node:vm';
import { gzipSync } from 'node:zlib';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { joinToolbar } from '../../app/controllers/profiler/toolbar-script.ts';
import { packageRoot } from '../../app/paths.ts';
import { launchBrowser, type OpenPage, type TestBrowser } from '../support/browser.ts';
import { entryOf, serveToolbar, shopPage, TAG, TOKEN, type ToolbarHost } from '../support/toolbar-pages.ts';

const WIDE = { width: 1440, height: 800 };
const NARROW = { width: 390, height: 844 };
/** Runs in the page. */
const ROOT = `document.querySelector('hindsight-toolbar')?.shadowRoot`;
const ITEMS = `[...(${ROOT}?.querySelectorAll('.item') ?? [])]`;

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

describe('the toolbar', function () {
  this.timeout(60_000);
  let browser: TestBrowser;
  let host: ToolbarHost;

  before(async function () {
    browser = await launchBrowser(this);
  });
  after(() => browser?.close());
  beforeEach(async () => {
    host = await serveToolbar();
  });
  afterEach(() => host.close());

  async function open(
    path = '/',
    options: BrowserContextOptions & { without?: boolean } = {},
  ): Promise<OpenPage> {
    const { without = false, ...context } = options;
    const opened = await browser.open({ viewport: WIDE, ...context });
    await opened.page.goto(`${host.origin}${path}`);
    if (!without) await opened.page.waitForFunction(`${ITEMS}.length > 0`);
    return opened;
  }

  const texts = (page: Page): Promise<string[]> => page.evaluate(`${ITEMS}.map((item) => item.innerText)`);
  const preview = (page: Page): Promise<string | null> =>
    page.evaluate(
      `(() => { const pop = ${ROOT}.querySelector('.pop'); return pop.hidden ? null : pop.innerText; })()`,
    );
  const boxOf = (page: Page, selector: string): Promise<Box> =>
    page.evaluate(`(() => { const { x, y, width, height } = ${ROOT}.querySelector('${selector}').getBoundingClientRect();
      return { x, y, width, height }; })()`);
  const focused = (page: Page): Promise<string> =>
    page.evaluate(`(${ROOT}?.activeElement ?? document.activeElement).innerText
      || ${ROOT}?.activeElement?.getAttribute('aria-label') || document.activeElement.localName`);
  const item = (page: Page, text: string) => page.locator('hindsight-toolbar .item', { hasText: text });
  /** Longer than a preview takes to open and to go. */
  const wait = (page: Page, ms = 400): Promise<void> => page.waitForTimeout(ms);

  async function violations(page: Page): Promise<string[]> {
    await page.evaluate(axe.source);
    const found = await page.evaluate<{ id: string; nodes: { html: string }[] }[]>(
      "axe.run(document, { resultTypes: ['violations'] }).then((result) => result.violations)",
    );
    return found.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 140)}`));
  }

  describe('its script', () => {
    const joined = joinToolbar(packageRoot());

    it('is below 20 KB as it is shipped, gzipped', () => {
      const { code } = transformSync(joined, { minify: true, target: 'es2022', charset: 'utf8' });
      expect(gzipSync(code).length).to.be.within(5000, 20_000);
    });

    it('is one script, with each name declared once and nothing left of its modules', () => {
      expect(() => new Script(joined)).not.to.throw();
      expect(joined).not.to.match(/^\s*(?:import|export)\s/m);
      expect(joined).not.to.match(
        /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function/,
      );
    });

    it('leaves no name in the page, and one in its storage', async () => {
      const names = 'Object.getOwnPropertyNames(window).sort()';
      const bare = await open('/', { without: true });
      host.pages['/bare'] = { body: shopPage({ tag: '' }) };
      await bare.page.goto(`${host.origin}/bare`);
      const before = await bare.page.evaluate<string[]>(names);
      const { page } = await open();
      await item(page, 'queries').hover();
      expect(await page.evaluate<string[]>(names)).to.deep.equal(before);
      await page.locator('hindsight-toolbar .control').first().click();
      expect(await page.evaluate('Object.keys(localStorage)')).to.deep.equal(['hindsight.toolbar']);
    });
  });

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
    const asked = host.asked.filter(({ path }) => path.endsWith('toolbar.json'));
    expect(asked.map(({ headers }) => headers['x-hindsight-toolbar'])).to.deep.equal(['1']);
    expect(problems).to.deep.equal([]);

    host.entries[TOKEN] = [entryOf({ findings: [], moreFindings: 0, items: [], cameFrom: [], parts: [] })];
    await page.reload();
    await page.waitForFunction(`${ITEMS}.length > 0`);
    expect(await texts(page)).to.have.length(2);
  });

  it('opens a preview where the pointer rests, keeps it while the pointer is on it, and Escape sends it away', async () => {
    const { page } = await open();
    await item(page, 'queries').hover();
    await wait(page);
    expect(await preview(page))
      .to.include('select * from items')
      .and.to.include('18 × 142.1 ms');
    await page.locator('hindsight-toolbar .pop').hover();
    await wait(page);
    expect(await preview(page)).not.to.equal(null);
    await page.keyboard.press('Escape');
    expect(await preview(page)).to.equal(null);
    await item(page, 'time').hover();
    await wait(page);
    expect(await preview(page)).to.match(/database\s+182.6 ms\s+58 %/);
    await page.mouse.move(700, 100);
    await wait(page, 600);
    expect(await preview(page)).to.equal(null);
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
    await wait(page, 500);
    expect(await preview(page)).to.equal(null);
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
    const database = { panel: 'database', label: 'queries', text: '3', tone: 'plain', href, preview };
    host.entries[TOKEN] = [entryOf({ items: [database] })];
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
    await page.goto(`${host.origin}/`);
    await page.waitForFunction(`${ITEMS}.length > 0`);
    await page.keyboard.press('Alt+Shift+KeyH');
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/_profiler/${TOKEN}`);
  });

  it('opens the preview by the first tap, the panel by the second, and closes by a tap beside it', async () => {
    const { page } = await open('/', { viewport: NARROW, hasTouch: true, isMobile: true });
    await item(page, 'queries').tap();
    expect(await preview(page)).to.include('select * from items');
    expect(page.url()).to.equal(`${host.origin}/`);
    await page.touchscreen.tap(200, 200);
    expect(await preview(page)).to.equal(null);
    await item(page, 'queries').tap();
    await item(page, 'queries').tap();
    await page.waitForURL(`**/_profiler/${TOKEN}?panel=database`);
  });

  describe('its place', () => {
    const controls = ['Move', 'Fold', 'Close'];
    const control = (page: Page, name: string) =>
      page.locator('hindsight-toolbar .control').nth(controls.indexOf(name));

    async function corner(page: Page): Promise<string> {
      const { x, y, width } = await boxOf(page, '.root');
      return `${y < 400 ? 'top' : 'bottom'} ${x < 20 ? 'left' : x + width > 1400 ? 'right' : 'nowhere'}`;
    }

    beforeEach(() => {
      host.entries[TOKEN] = [entryOf({ items: [], cameFrom: [] })];
    });

    it('is one of four corners, by its button, by keys and by dragging, and is remembered', async () => {
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
      const box = await boxOf(page, '.control');
      await page.mouse.move(box.x + 5, box.y + 5);
      await page.mouse.down();
      await page.mouse.move(300, 700, { steps: 4 });
      await page.mouse.up();
      expect(await corner(page)).to.equal('bottom left');
      await page.mouse.move(300, 300);
      expect(await corner(page)).to.equal('bottom left');
      await control(page, 'Move').click();
      await page.reload();
      await page.waitForFunction(`${ITEMS}.length > 0`);
      expect(await corner(page)).to.equal('top left');
    });

    it('keeps the preview inside the window, in every corner', async () => {
      host.entries[TOKEN] = [entryOf()];
      for (const viewport of [WIDE, NARROW]) {
        const { page } = await open('/', { viewport });
        for (let turn = 0; turn < 4; turn++) {
          for (const text of ['200', 'memory']) {
            await item(page, text).hover();
            await wait(page, 300);
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
      host.asked.length = 0;
      await wait(page, 1000);
      expect(await page.locator('hindsight-toolbar').count()).to.equal(0);
      expect(host.asked.filter(({ path }) => path.endsWith('.json'))).to.deep.equal([]);
      await page.keyboard.press('Alt+Shift+KeyH');
      await page.waitForFunction(`${ITEMS}.length > 0`);
      await page.reload();
      await page.waitForFunction(`${ITEMS}.length > 0`);
      expect(problems).to.deep.equal([]);
    });

    it('holds for the page where the browser refuses storage', async () => {
      host.pages['/'] = {
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

    for (const [name, css] of Object.entries(styles))
      it(`looks and works as in any other: ${name}`, async () => {
        const plain = await open();
        const expected = await look(plain.page);
        host.pages['/hostile'] = { body: shopPage({ head: `<style>${css}</style>` }) };
        const { page, problems } = await open('/hostile');
        expect(await look(page)).to.deep.equal(expected);
        await item(page, 'queries').hover();
        await wait(page);
        expect(await preview(page)).to.include('select * from items');
        expect(problems).to.deep.equal([]);
      });

    it('looks and works as in any other: from right to left', async () => {
      const plain = await open();
      const expected = await look(plain.page);
      host.pages['/rtl'] = { body: shopPage({ html: 'lang="ar" dir="rtl"' }) };
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
    host.entries[TOKEN] = [entryOf({ state: 'running', durationMs: null, items: [] }), entryOf()];
    host.pages['/api'] = { body: '{}', type: 'application/json' };
    for (const viewport of [WIDE, NARROW]) {
      const { page } = await open('/', { viewport });
      await page.evaluate(`window.shifts = []; new PerformanceObserver((list) => window.shifts.push(...list.getEntries()
        .map(({ value }) => value))).observe({ type: 'layout-shift', buffered: true });`);
      await page.waitForFunction(`${ITEMS}.length > 9`);
      await page.evaluate(`Promise.all(Array.from({ length: 12 }, (_, at) => fetch('/api?' + at)))`);
      await wait(page, 500);
      for (const text of ['200', 'queries', '302', 'calls']) {
        await item(page, text).first().hover();
        await wait(page, 300);
      }
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).to.equal(0);
      const shifts = await page.evaluate<number[]>('window.shifts');
      expect(shifts.reduce((sum, value) => sum + value, 0)).to.be.below(0.001);
      const { width, x } = await boxOf(page, '.root');
      expect(x + width).to.be.at.most(viewport.width);
      host.entries[TOKEN] = [entryOf({ state: 'running', durationMs: null, items: [] }), entryOf()];
      await page.context().close();
    }
  });

  it('is not taken for what the page painted, where its own paint is the largest', async () => {
    const { page } = await browser.open({ viewport: WIDE });
    const told = page.waitForRequest((request) => request.url().endsWith('/-/timing'));
    await page.goto(`${host.origin}/`);
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

  it('works under the strictest policy, with trusted types required, without one violation', async () => {
    host.pages['/'] = {
      body: shopPage({ tag: TAG.replace('<script', '<script nonce="r4nd0m"') }).replace(
        /<style>[^]*?<\/style>/,
        '',
      ),
      headers: {
        'content-security-policy':
          "default-src 'none'; script-src 'nonce-r4nd0m'; connect-src 'self'; base-uri 'none'; style-src 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
      },
    };
    const { page, problems } = await open();
    for (const text of ['200', 'N+1', 'time', 'queries', '302']) {
      await item(page, text).first().hover();
      await wait(page, 300);
      expect(await preview(page), text).not.to.equal(null);
    }
    expect((await boxOf(page, '.line')).height).to.be.within(28, 40);
    await page.locator('hindsight-toolbar .control').first().click();
    expect(problems.filter((one) => !one.includes('favicon'))).to.deep.equal([]);
  });

  it('gives axe-core nothing to say, light and dark, with each preview open, and hides no fault of the page', async () => {
    const faults = '<div role="banner"><img src="/none.png"><input></div>';
    host.pages['/faulty'] = { body: shopPage({ body: faults }) };
    host.pages['/faulty-bare'] = { body: shopPage({ body: faults, tag: '' }) };
    host.pages['/none.png'] = { body: '', type: 'image/png' };
    const bare = await open('/faulty-bare', { without: true });
    const withBar = await open('/faulty');
    const expected = await violations(bare.page);
    expect(expected).not.to.deep.equal([]);
    expect(await violations(withBar.page)).to.deep.equal(expected);
    for (const colorScheme of ['light', 'dark'] as const)
      for (const viewport of [WIDE, NARROW]) {
        const { page } = await open('/', { colorScheme, viewport });
        expect(await violations(page)).to.deep.equal([]);
        const count = (await texts(page)).length;
        await page.keyboard.press('Alt+Shift+KeyH');
        for (let at = 0; at < count; at++) {
          await page.keyboard.press('ArrowRight');
          if (at < count - 1) expect(await preview(page)).not.to.equal(null);
          expect(await violations(page), `${colorScheme}, preview ${at}`).to.deep.equal([]);
        }
        await page.context().close();
      }
  });

  it('keeps to itself what happens in it', async () => {
    host.pages['/'] = {
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

  describe('asking the service', () => {
    it('asks again while the request runs, and for a while', async () => {
      const running = entryOf({ state: 'running', durationMs: null, status: null, parts: [] });
      host.entries[TOKEN] = [running, running, entryOf()];
      const { page } = await open();
      expect((await texts(page))[0]).to.include('…');
      await page.waitForFunction(`${ITEMS}[0].innerText.includes('200')`);
      await wait(page, 2000);
      expect(host.asked.filter(({ path }) => path.endsWith('toolbar.json'))).to.have.length(3);
    });

    for (const [status, sentence] of [
      [401, 'Sign in at the profiler to see this.'],
      [403, 'The application does not let you see this.'],
      [500, 'The service failed to read it.'],
      [200, 'Something else answers in the place of the profiler.'],
      [302, 'Sign in at the profiler to see this.'],
    ] as const)
      it(`says one quiet sentence where the answer is ${status}, and links to the profile`, async () => {
        host.entries[TOKEN] = [status];
        const { page } = await open();
        expect((await texts(page)).join().replace(/\s+/g, ' ')).to.equal(`${TOKEN} ${sentence}`);
        expect(await page.evaluate(`${ITEMS}[0].pathname`)).to.equal(`/_profiler/${TOKEN}`);
        await wait(page, 1000);
        expect(host.asked.filter(({ path }) => path.endsWith('toolbar.json'))).to.have.length(1);
        expect(await violations(page)).to.deep.equal([]);
      });

    it('asks again when somebody comes back who has signed in', async () => {
      host.entries[TOKEN] = [401, 401, entryOf()];
      const { page } = await open();
      const comeBack = "document.dispatchEvent(new Event('visibilitychange'))";
      await page.evaluate(comeBack);
      await wait(page, 200);
      expect((await texts(page)).join()).to.include('Sign in');
      await page.evaluate(comeBack);
      await page.waitForFunction(`${ITEMS}[0].innerText.includes('200')`);
      await page.evaluate(comeBack);
      await wait(page, 200);
      expect(host.asked.filter(({ path }) => path.endsWith('toolbar.json'))).to.have.length(3);
    });

    it('waits for a profile that is not stored yet', async () => {
      host.entries[TOKEN] = [404, entryOf()];
      const { page } = await open();
      await page.waitForFunction(`${ITEMS}[0].innerText.includes('200')`);
    });

    it('asks nothing where the policy of the page would forbid it', async () => {
      host.pages['/'] = {
        body: shopPage({ tag: TAG.replace('data-hindsight', 'data-hindsight data-connect="no"') }),
        headers: { 'content-security-policy': "connect-src 'none'" },
      };
      const { page, problems } = await open();
      expect((await texts(page)).join()).to.include('lets the bar ask nothing');
      await wait(page, 2500);
      expect(problems).to.deep.equal([]);
    });

    it('shows no text of the service as markup, and follows no address outside of it', async () => {
      const evil = '<img src=x onerror=alert(1)>';
      const [first] = (entryOf() as { items: object[] }).items;
      host.entries[TOKEN] = [
        entryOf({
          route: evil,
          url: `/${evil}`,
          items: [{ ...first, label: evil, text: evil, href: 'javascript:alert(1)' }],
          cameFrom: [],
          findings: [{ severity: 'bad', label: evil, text: evil, href: '//evil.example/' }],
        }),
      ];
      const { page, problems } = await open();
      await page.keyboard.press('Alt+Shift+KeyH');
      for (let at = 0; at < 4; at++) await page.keyboard.press('ArrowRight');
      expect(await page.evaluate(`${ROOT}.querySelectorAll('img').length`)).to.equal(0);
      const hrefs = await page.evaluate<string[]>(
        `[...${ROOT}.querySelectorAll('a')].map((link) => link.getAttribute('href')).filter((href) => href !== null)`,
      );
      expect(hrefs.filter((href) => !href.startsWith(`${host.origin}/_profiler/`))).to.deep.equal([]);
      expect(problems).to.deep.equal([]);
    });
  });

  describe('where there is no page for it, or another one comes', () => {
    it('is not in frames', async () => {
      host.pages['/outer'] = { body: shopPage({ tag: '', body: '<iframe src="/" title="inner"></iframe>' }) };
      const { page, problems } = await open('/outer', { without: true });
      await wait(page, 600);
      const inner = page.frames()[1]!;
      expect(await inner.evaluate("document.querySelector('hindsight-toolbar')")).to.equal(null);
      expect(host.asked.filter(({ path }) => path.endsWith('.json'))).to.deep.equal([]);
      expect(problems).to.deep.equal([]);
    });

    it('is in XHTML documents too, and not in drawings', async () => {
      const xml = (body: string): string =>
        body.replace(/async /, 'async="" ').replace('data-hindsight', 'data-hindsight=""');
      host.pages['/xhtml'] = {
        type: 'application/xhtml+xml',
        body: `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body><h1>x</h1>${xml(TAG)}</body></html>`,
      };
      host.pages['/drawing'] = {
        type: 'image/svg+xml',
        body: `<svg xmlns="http://www.w3.org/2000/svg"><script href="/_profiler/toolbar.js"/><rect width="9" height="9"/></svg>`,
      };
      const { page, problems } = await open('/xhtml');
      await item(page, 'queries').hover();
      await wait(page);
      expect(await preview(page)).to.include('select * from items');
      await page.goto(`${host.origin}/drawing`);
      await wait(page, 300);
      expect(await page.evaluate("document.querySelector('hindsight-toolbar')")).to.equal(null);
      expect(problems).to.deep.equal([]);
    });

    it('stays when the body is emptied or replaced', async () => {
      const { page, problems } = await open();
      await page.evaluate(
        "document.body.innerHTML = ''; document.body.replaceWith(document.createElement('body'))",
      );
      await wait(page, 200);
      expect((await texts(page)).length).to.be.above(5);
      expect(problems).to.deep.equal([]);
    });

    it('comes back once when everything is thrown out, and then stays away', async () => {
      const { page, problems } = await open();
      const hosts = "document.querySelectorAll('hindsight-toolbar').length";
      await page.evaluate("document.documentElement.innerHTML = '<body>new</body>'");
      await wait(page, 200);
      expect(await page.evaluate(hosts)).to.equal(1);
      await page.evaluate("document.documentElement.innerHTML = '<body>newer</body>'");
      await wait(page, 300);
      expect(await page.evaluate(hosts)).to.equal(0);
      await page.keyboard.press('Alt+Shift+KeyH');
      expect(await page.evaluate(hosts)).to.equal(1);
      expect(problems).to.deep.equal([]);
    });

    it('bears a document that is written anew, with and without a tag', async () => {
      const { page, problems } = await open();
      await page.evaluate(
        "document.open(); document.write('<title>written</title><p>written'); document.close();",
      );
      await wait(page, 400);
      expect(await page.evaluate("document.querySelectorAll('hindsight-toolbar').length")).to.be.at.most(1);
      await page.evaluate(
        `document.open(); document.write(${JSON.stringify(`<p>again${TAG.replace('</', '<\\/')}`).replaceAll('<\\\\/', '<\\/')}); document.close();`,
      );
      await page.waitForFunction(`${ITEMS}.length > 5`);
      await wait(page, 400);
      expect(await page.evaluate("document.querySelectorAll('hindsight-toolbar').length")).to.equal(1);
      expect(problems).to.deep.equal([]);
    });

    it('takes the token of a second tag, and keeps what was before', async () => {
      host.entries.abcdef = [entryOf({ token: 'abcdef', route: '/cart', url: '/cart', cameFrom: [] })];
      const { page, problems } = await open();
      await page.evaluate(`(() => { const script = document.createElement('script'); script.src = '/_profiler/toolbar.js';
        script.dataset.token = 'abcdef'; document.body.append(script); })()`);
      await page.waitForFunction(`${ITEMS}[0].innerText.includes('/cart')`);
      expect(await page.evaluate("document.querySelectorAll('hindsight-toolbar').length")).to.equal(1);
      expect((await texts(page)).map((text) => text.replace(/\s+/g, ' '))).to.include(
        'after GET /orders/4712?tab=items',
      );
      expect(problems).to.deep.equal([]);
    });

    it('is as it was when the page comes back', async () => {
      host.pages['/next'] = { body: shopPage({ tag: '' }) };
      const { page, problems } = await open();
      await page.goto(`${host.origin}/next`);
      await page.goBack();
      await page.waitForFunction(`${ITEMS}.length > 5`);
      await item(page, 'queries').hover();
      await wait(page);
      expect(await preview(page)).to.include('select * from items');
      expect(problems).to.deep.equal([]);
    });
  });
});
