/** The toolbar's script as it is joined and served. */
import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { Script } from 'node:vm';
import { createToolbarScript, joinToolbar } from '../../../app/controllers/profiler/toolbar-script.ts';
import { moduleUrl, packageRoot } from '../../../app/paths.ts';
import { createPages } from '../../../app/routes/profiler.ts';
import { createProfilerControllers } from '../../../app/controllers/profiler/index.ts';
import { createPageFixture } from '../../support/page-fixture.ts';
import { withPages } from '../../support/page-client.ts';

const root = packageRoot();
const joined = joinToolbar(root);
const [, literal = '""'] = /^const STYLE = (".*");$/m.exec(joined) ?? [];
const style = JSON.parse(literal) as string;
const code = joined.replace(literal, '""');

describe("the toolbar's script", () => {
  it('is one function in strict mode that compiles, with every name declared once', () => {
    expect(joined).to.match(/^\(\(\) => \{\n'use strict';\n\{\n/);
    expect(() => new Script(joined)).not.to.throw();
    const twice = joined.replace('function createBar(', 'function createAsk(');
    expect(() => new Script(twice)).to.throw(SyntaxError);
    expect(code).not.to.match(/^\s*(?:import|export)\s/m);
  });

  it('has no remark left, and nothing of what a policy with trusted types would refuse', () => {
    expect(code).not.to.match(/^\s*(?:\/\/|\/?\*)/m);
    expect(code).not.to.match(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/);
    expect(code).not.to.match(/createElement\('(?:style|script)'|setAttribute\('style'/);
  });

  it('brings the colours that its styles use, and no others', () => {
    const used = new Set(Array.from(style.matchAll(/var\((--[\w-]+)/g), ([, name]) => name));
    const held = new Set(Array.from(style.matchAll(/(--[\w-]+):/g), ([, name]) => name));
    expect([...used].sort()).to.deep.equal([...held].sort());
    const [, accent] = /--accent: (light-dark\([^;]+\));/.exec(
      readFileSync('public/profiler/hindsight.css', 'utf8'),
    )!;
    expect(style).to.include(`--accent:${accent}`.replace(/,\s/g, ','));
  });

  it('styles no class that nothing in it has', () => {
    const selectors = style.replace(/\{[^{}]*\}/g, '{}').replace(/\([^)]*\)/g, '');
    const classes = new Set(Array.from(selectors.matchAll(/\.([a-z][\w-]*)/g), ([, name]) => name!));
    expect(classes.size).to.be.above(30);
    const made = /^(?:s\d?|k-\w+|i-\w+|bl|br|tl|tr)$/;
    expect(
      [...classes].filter((name) => !made.test(name) && !new RegExp(`['\` ]${name}['\` ]`).test(code)),
    ).to.deep.equal([]);
  });

  it('is known by its hash: an address for good, and one that is asked again', async () => {
    const script = createToolbarScript(root, moduleUrl('toolbar'));
    const { pages } = createPageFixture([]);
    await withPages(pages, async ({ address }) => {
      const plain = await fetch(`${address}/_profiler/toolbar.js`);
      const body = await plain.text();
      expect(body).to.equal(joined);
      expect(plain.headers.get('content-type')).to.equal('text/javascript; charset=UTF-8');
      expect(plain.headers.get('cache-control')).to.equal('no-cache');
      const etag = plain.headers.get('etag') ?? '';
      const again = await fetch(`${address}/_profiler/toolbar.js`, { headers: { 'if-none-match': etag } });
      expect(again.status).to.equal(304);
      const named = await fetch(`${address}${script.url()}`);
      expect(named.headers.get('cache-control')).to.equal('public, max-age=31536000, immutable');
      const other = await fetch(`${address}/_profiler/toolbar.js?v=0123456789ab`);
      expect([other.status, other.headers.get('cache-control')]).to.deep.equal([200, 'no-cache']);
    });
  });

  it('is given without a password, and nothing else is', async () => {
    const { services } = createPageFixture([]);
    const guard = (): Promise<void> => Promise.reject(new Error('no entry'));
    const controllers = createProfilerControllers(services);
    const { securityHeaders, redactText } = services;
    const pages = createPages({ controllers, originOf: () => null, guard, securityHeaders, redactText });
    await withPages(pages, async ({ address }) => {
      const status = async (path: string, method = 'GET'): Promise<number> =>
        (await fetch(`${address}${path}`, { method })).status;
      expect(await status('/_profiler/toolbar.js')).to.equal(200);
      expect(await status('/_profiler/toolbar.js', 'HEAD')).to.equal(200);
      for (const path of [
        '/_profiler/',
        '/_profiler/toolbar.js/',
        '/_profiler/abcdef/toolbar.json',
        '/_profiler/abcdef/calls.json',
      ])
        expect(await status(path), path).to.equal(500);
    });
  });
});
