/** What the bar asks the service, and what it shows where that says little or nothing. */
import { expect } from 'chai';
import { violations } from '../support/axe.ts';
import { boxOf, item, ITEMS, previewWith, ROOT, texts, useBarPages, wait } from '../support/bar-pages.ts';
import { entryOf, shopPage, TAG, TOKEN } from '../support/toolbar-pages.ts';
import { until } from '../support/waiting.ts';

describe('the toolbar, asking the service', () => {
  const bar = useBarPages();
  const { open } = bar;

  it('asks again while the request runs, and for a while', async () => {
    const running = entryOf({ state: 'running', durationMs: null, status: null, parts: [] });
    bar.host.entries[TOKEN] = [running];
    const asked = (): number => bar.host.asked.filter(({ path }) => path.endsWith('toolbar.json')).length;
    const { page } = await open();
    expect((await texts(page))[0]).to.include('…');
    await until(() => asked() > 1, 'a second question');
    bar.host.entries[TOKEN] = [entryOf()];
    await page.waitForFunction(`${ITEMS}[0].innerText.includes('200')`);
    const before = asked();
    await wait(page, 2000);
    expect(asked()).to.equal(before);
  });

  for (const [status, sentence] of [
    [401, 'Sign in to the profiler to see this.'],
    [403, 'The application does not allow you to see this.'],
    [500, 'The profiler failed to read the profile.'],
    [200, 'Another program responds at the profiler’s address.'],
    [302, 'Sign in to the profiler to see this.'],
  ] as const)
    it(`says one quiet sentence where the answer is ${status}, and links to the profile`, async () => {
      bar.host.entries[TOKEN] = [status];
      const { page } = await open();
      expect((await texts(page)).join().replace(/\s+/g, ' ')).to.equal(`${TOKEN} ${sentence}`);
      expect(await page.evaluate(`${ITEMS}[0].pathname`)).to.equal(`/_profiler/${TOKEN}`);
      await wait(page, 1000);
      expect(bar.host.asked.filter(({ path }) => path.endsWith('toolbar.json'))).to.have.length(1);
      // The others are the same elements.
      if (status === 401) expect(await violations(page)).to.deep.equal([]);
    });

  it('asks again when somebody comes back who has signed in', async () => {
    bar.host.entries[TOKEN] = [401, 401, entryOf()];
    const { page } = await open();
    const comeBack = "document.dispatchEvent(new Event('visibilitychange'))";
    const asked = (): string[] =>
      bar.host.asked.flatMap(({ path }) => (path.endsWith('toolbar.json') ? [path] : []));
    await page.evaluate(comeBack);
    await until(() => asked().length === 2, 'the second question');
    await wait(page, 200);
    expect((await texts(page)).join()).to.include('Sign in');
    await page.evaluate(comeBack);
    await page.waitForFunction(`${ITEMS}[0].innerText.includes('200')`);
    await page.evaluate(comeBack);
    await wait(page, 200);
    expect(asked()).to.have.length(3);
  });

  it('waits for a profile that is not stored yet', async () => {
    bar.host.entries[TOKEN] = [404, entryOf()];
    const { page } = await open();
    await page.waitForFunction(`${ITEMS}[0].innerText.includes('200')`);
  });

  it('asks nothing where the policy of the page would forbid it', async () => {
    bar.host.pages['/'] = {
      body: shopPage({ tag: TAG.replace('data-hindsight', 'data-hindsight data-connect="no"') }),
      headers: { 'content-security-policy': "connect-src 'none'" },
    };
    const { page, problems } = await open();
    expect((await texts(page)).join()).to.include('policy blocks requests');
    await wait(page, 2500);
    expect(problems).to.deep.equal([]);
  });

  it('shows no text of the service as markup, and follows no address outside of it', async () => {
    const evil = '<img src=x onerror=alert(1)>';
    const [first] = (entryOf() as { items: object[] }).items;
    bar.host.entries[TOKEN] = [
      entryOf({
        route: evil,
        url: `/${evil}`,
        items: [{ ...first, label: evil, text: evil, href: 'javascript:alert(1)' }],
        cameFrom: [{ token: 'abcdef', method: 'GET', url: evil, status: 302, href: '/\\evil.example/' }],
        findings: ['//evil.example/', '/\\evil.example/', '/\t/evil.example/', 'data:text/html,x'].map(
          (href) => ({ severity: 'bad', label: evil, text: evil, href }),
        ),
      }),
    ];
    const { page, problems } = await open();
    await page.keyboard.press('Alt+Shift+KeyH');
    const hrefs: string[] = [];
    for (let at = 0; at < 5; at++) {
      hrefs.push(
        ...(await page.evaluate<string[]>(
          `[...${ROOT}.querySelectorAll('a[href]')].map((link) => link.getAttribute('href'))`,
        )),
      );
      await page.keyboard.press('ArrowRight');
    }
    expect(await page.evaluate(`${ROOT}.querySelectorAll('img').length`)).to.equal(0);
    expect(hrefs.filter((href) => !href.startsWith(`${bar.host.origin}/_profiler/`))).to.deep.equal([]);
    expect(problems).to.deep.equal([]);
  });

  it('works under the strictest policy, with trusted types required, without one violation', async () => {
    bar.host.pages['/'] = {
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
    for (const [text, words] of [
      ['200', 'src/orders/routes.ts:14'],
      ['N+1', '18 times the same statement'],
      ['time', '182.6 ms'],
      ['queries', 'select * from items'],
      ['302', 'POST /orders'],
    ] as const) {
      await item(page, text).first().hover();
      expect(await previewWith(page, words), text).to.include(words);
    }
    expect((await boxOf(page, '.line')).height).to.be.within(28, 40);
    await page.locator('hindsight-toolbar .control').first().click();
    expect(problems.filter((one) => !one.includes('favicon'))).to.deep.equal([]);
  });
});
