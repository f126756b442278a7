/** The service above its limit of full records: every response has a token, and every token opens a page. */
import { expect } from 'chai';
import { load } from 'cheerio';
import type { Profile } from '../../app/index.ts';
import { useRecordingLimit } from '../support/recording-limit.ts';
import { type RunningShop, startShop } from '../support/shop.ts';

describe('the service with no request recorded in full', () => {
  useRecordingLimit();
  let shop: RunningShop;
  before(async () => {
    shop = await startShop({ PROFILER_FULL_PER_SECOND: '0' });
  });
  after(() => shop.close());

  async function ask(path: string, headers: Record<string, string> = {}): Promise<Response> {
    const response = await fetch(`${shop.origin}${path}`, { headers });
    await response.arrayBuffer();
    expect(response.headers.get('x-debug-token-link')).to.match(/_profiler\/[0-9a-f]{6}$/);
    return response;
  }

  const tokenOf = (response: Response, name = 'x-debug-token'): string => response.headers.get(name) ?? '';

  async function profileOf(token: string): Promise<Profile> {
    const response = await fetch(`${shop.origin}/_profiler/${token}.json`);
    expect(response.status).to.equal(200);
    return ((await response.json()) as { profile: Profile }).profile;
  }

  it('opens a page for each token at once, which says what is known and how to record it in full', async () => {
    const token = tokenOf(await ask('/orders'));
    const response = await fetch(`${shop.origin}/_profiler/${token}?panel=overview`);
    expect(response.status).to.equal(200);
    const $ = load(await response.text());
    expect($('main h2').first().text()).to.equal('Recorded as a summary');
    const text = $('main').text();
    for (const known of ['200 OK', 'GET /orders', 'text/html', 'PROFILER_FULL_PER_SECOND', 'x-debug-profile'])
      expect(text).to.include(known);
    const profile = await profileOf(token);
    expect(profile).to.include({ summary: 'limit', status: 200, route: '/orders' });
    expect(profile.findings).to.deep.equal([]);
  });

  it('shows one sentence on each panel, and 404 for a panel that does not exist', async () => {
    const token = tokenOf(await ask('/orders'));
    for (const panel of ['request', 'database', 'exception', 'timeline', 'logs']) {
      const response = await fetch(`${shop.origin}/_profiler/${token}?panel=${panel}`);
      expect(response.status).to.equal(200);
      expect(load(await response.text())('main .empty').text()).to.include(
        'Only a summary of this request was recorded.',
      );
    }
    expect((await fetch(`${shop.origin}/_profiler/${token}?panel=none`)).status).to.equal(404);
    const markdown = await (await fetch(`${shop.origin}/_profiler/${token}.md`)).text();
    expect(markdown).to.include('only a summary of this one was recorded');
  });

  it('answers an error with a short page and all its headers, and both tokens open', async () => {
    const response = await fetch(`${shop.origin}/api/quote`);
    const html = await response.text();
    expect(response.status).to.equal(500);
    expect(html).to.not.include('stack');
    expect(Buffer.byteLength(html)).to.be.lessThan(2000);
    expect(response.headers.get('content-type')).to.equal('text/html; charset=UTF-8');
    expect(response.headers.get('cache-control')).to.equal('no-cache, private');
    expect(response.headers.get('x-robots-tag')).to.equal('noindex');
    const [parent, child] = [tokenOf(response), tokenOf(response, 'x-previous-debug-token')];
    const [failed, page] = [await profileOf(parent), await profileOf(child)];
    expect(failed).to.include({ summary: 'limit', status: 500, child });
    expect(failed.error?.message).to.be.a('string').and.not.equal('');
    expect(page).to.include({ summary: 'limit', kind: 'error_page', parent });
  });
});
