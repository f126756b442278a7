/** The toolbar's script as it is bundled and served. */
import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import { Script } from 'node:vm';
import { createAssets } from '../../../app/controllers/profiler/assets.ts';
import { urls } from '../../../app/urls.ts';
import { createPages } from '../../../app/routes/profiler.ts';
import { createProfilerControllers } from '../../../app/controllers/profiler/index.ts';
import { createPageFixture } from '../../support/page-fixture.ts';
import { withPages } from '../../support/page-client.ts';

const assets = createAssets();
const script = assets.plain('toolbar.js').body.toString();
const styles = readFileSync('public/toolbar/toolbar.css', 'utf8');

describe("the toolbar's script", () => {
  it('is one script, with its styles', () => {
    expect(() => new Script(script)).not.to.throw();
    expect(script).not.to.match(/^\s*(?:import|export)\s/m);
    expect(script).to.include(':host{all:initial!important');
  });

  it('has nothing of what a policy with trusted types would refuse', () => {
    expect(script).not.to.match(
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/,
    );
    expect(script).not.to.match(/createElement\("(?:style|script)"|setAttribute\("style"/);
  });

  it('reads no colour or font that the pages do not have', () => {
    const pages = readFileSync('public/profiler/hindsight.css', 'utf8');
    const held = new Set(Array.from((pages + styles).matchAll(/(--[\w-]+):/g), ([, name]) => name));
    const read = Array.from(styles.matchAll(/var\((--[\w-]+)/g), ([, name]) => name);
    expect(read).to.have.length.above(15);
    expect(read.filter((name) => !held.has(name))).to.deep.equal([]);
  });

  it('styles no class that nothing in it has', () => {
    const selectors = styles
      .replace(/\/\*[^]*?\*\//g, '')
      .replace(/\{[^{}]*\}/g, '{}')
      .replace(/\([^)]*\)/g, '');
    const classes = new Set(Array.from(selectors.matchAll(/\.([a-z][\w-]*)/g), ([, name]) => name!));
    expect(classes.size).to.be.above(30);
    const made = /^(?:s\d?|k-\w+|i-\w+|bl|br|tl|tr)$/;
    const code = readdirSync('public/toolbar')
      .filter((name) => name.endsWith('.js'))
      .map((name) => readFileSync(`public/toolbar/${name}`, 'utf8'))
      .join('\n');
    expect(
      [...classes].filter((name) => !made.test(name) && !new RegExp(`['\` ]${name}['\` ]`).test(code)),
    ).to.deep.equal([]);
  });

  it('is known by its hash: an address for good, and one that is asked again', async () => {
    const { pages } = createPageFixture([]);
    await withPages(pages, async ({ address }) => {
      const plain = await fetch(`${address}/_profiler/toolbar.js`);
      const body = await plain.text();
      expect(body).to.equal(script);
      expect(plain.headers.get('content-type')).to.equal('text/javascript; charset=UTF-8');
      expect(plain.headers.get('cache-control')).to.equal('no-cache');
      const etag = plain.headers.get('etag') ?? '';
      const again = await fetch(`${address}/_profiler/toolbar.js`, { headers: { 'if-none-match': etag } });
      expect(again.status).to.equal(304);
      const named = await fetch(`${address}${urls.toolbarScript(assets.hash('toolbar.js'))}`);
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
