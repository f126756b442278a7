/** A profile as one HTML file. */
import { type CheerioAPI, load } from 'cheerio';
import { expect } from 'chai';
import { createHash } from 'node:crypto';
import { createDeferredStore } from '../../../app/profiler/store/deferred-store.ts';
import { type RecordingHost, useRecordingHosts } from '../../support/recording-host.ts';

describe('a profile as one file', () => {
  const start = useRecordingHosts();

  async function get({ url }: RecordingHost, path: string): Promise<string> {
    return (await fetch(`${url}/_profiler/${path}`)).text();
  }

  function panelsIn($: CheerioAPI): string[] {
    return $('main > section')
      .toArray()
      .map((section) => $(section).attr('id') ?? '');
  }

  it('does not say where the application lies', async () => {
    const host = await start({ editor: 'vscode://file/%f:%l:%c', root: process.cwd() });
    const token = await host.send('/broken');
    expect(await get(host, `${token}?panel=exception`)).to.include('vscode:');
    expect(await get(host, `${token}.html`)).to.not.match(/vscode:|data-editor/);
  });

  it('has all panels, its style, and nothing that asks a server', async () => {
    const host = await start();
    const token = await host.send('/broken?q=1', { headers: { authorization: 'Bearer abcdefghijklmnop' } });
    const response = await fetch(`${host.url}/_profiler/${token}.html`);
    expect(response.headers.get('content-disposition')).to.equal(
      `attachment; filename="GET-broken-${token}.html"`,
    );
    const html = await response.text();
    const $ = load(html);
    expect(panelsIn($)).to.include.members(['overview', 'exception', 'request', 'timeline', 'configuration']);
    const hash = createHash('sha256').update($('style').text()).digest('base64');
    expect($('meta[http-equiv]').attr('content')).to.equal(
      `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`,
    );
    expect($('link, img, iframe, script')).to.have.length(0);
    expect(html).to.not.include('abcdefghijklmnop');
    const ids = new Set($('[id]').map((_i, one) => $(one).attr('id')).toArray()); // prettier-ignore
    expect(ids.size).to.equal($('[id]').length);
    for (const link of $('[href]').toArray()) {
      const href = $(link).attr('href')!;
      expect(href).to.match(/^#/);
      expect(ids.has(href.slice(1)), href).to.equal(true);
    }
    expect($('.panels a[href="#request"]')).to.have.length(1);
  });

  it('is there before the storage is', async () => {
    const host = await start({ storage: createDeferredStore() });
    const token = await host.send('/broken');
    for (const ending of ['', '.html', '.json', '.md', '.har', '.otlp.json']) {
      const { status } = await fetch(`${host.url}/_profiler/${token}${ending}`);
      expect(status, ending).to.equal(200);
    }
  });
});
