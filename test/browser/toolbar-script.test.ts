/** The script of the bar: its size, that it is one, and that it leaves nothing behind. */
import { expect } from 'chai';
import { gzipSync } from 'node:zlib';
import { join } from 'node:path';
import { packageRoot, requirePackage } from '../../app/paths.ts';
import { item, useBarPages } from '../support/bar-pages.ts';
import { shopPage } from '../support/toolbar-pages.ts';

const { bundleScript } = requirePackage(join(packageRoot(), 'bin', 'assets.cjs')) as {
  bundleScript(path: string, options: { minify: boolean }): string;
};

describe("the toolbar's script", () => {
  const bar = useBarPages();
  const { open } = bar;

  it('is below 24 KB as it is shipped, gzipped', () => {
    const script = bundleScript('toolbar/toolbar.js', { minify: true });
    expect(gzipSync(script).length).to.be.within(5000, 24_000);
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
