/** The script of the bar: its size, that it is one, and that it leaves nothing behind. */
import { expect } from 'chai';
import { transformSync } from 'esbuild';
import { Script } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { joinToolbar } from '../../app/controllers/profiler/toolbar-script.ts';
import { packageRoot } from '../../app/paths.ts';
import { item, useBarPages } from '../support/bar-pages.ts';
import { shopPage } from '../support/toolbar-pages.ts';

describe("the toolbar's script", () => {
  const bar = useBarPages();
  const { open } = bar;

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
    bar.host.pages['/bare'] = { body: shopPage({ tag: '' }) };
    await bare.page.goto(`${bar.host.origin}/bare`);
    const before = await bare.page.evaluate<string[]>(names);
    const { page } = await open();
    await item(page, 'queries').hover();
    expect(await page.evaluate<string[]>(names)).to.deep.equal(before);
    await page.locator('hindsight-toolbar .control').first().click();
    expect(await page.evaluate('Object.keys(localStorage)')).to.deep.equal(['hindsight.toolbar']);
  });
});
