/** The list: what it folds, finds, counts and draws. */
import { expect } from 'chai';
import { type CheerioAPI, load } from 'cheerio';
import type { StoreItem } from '../../../app/profiler/store/store.ts';
import { itemOf } from '../../storage/store-contract.ts';
import { usePagesEach } from '../../support/page-client.ts';
import { createPageFixture, ORIGIN, type PageFixture, type Recorded } from '../../support/page-fixture.ts';
import { samplePanels, sampleRule } from '../../support/page-samples.ts';

const DOCUMENT = ['Sec-Fetch-Dest', 'document', 'Sec-Fetch-Site', 'same-origin'];
const asked = (by: string): string[] => [
  'Sec-Fetch-Dest', 'empty', 'Sec-Fetch-Site', 'same-origin', 'Referer', `${ORIGIN}${by}`,
]; // prettier-ignore

describe('the list', () => {
  let fixture: PageFixture;
  const server = usePagesEach(
    () =>
      (fixture = createPageFixture(
        [
          ...samplePanels(),
          {
            name: 'logs',
            title: 'Logs',
            recorded: { searched: ['message'] },
            collect: (context) => ({
              lines: [{ message: `shipped ${context.first('request')?.url ?? ''}` }],
            }),
          },
        ],
        { rules: [sampleRule] },
      )),
  );

  async function page(query = ''): Promise<CheerioAPI> {
    const response = await fetch(`${server.address}/_profiler/search${query}`);
    expect(response.status, query).to.equal(200);
    return load(await response.text());
  }
  async function record(...all: Recorded[]): Promise<string[]> {
    const tokens: string[] = [];
    for (const given of all) {
      tokens.push((await fixture.record(given)).token);
      // Two of one millisecond have no order.
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return tokens;
  }
  const urlsIn = ($: CheerioAPI, where: string): string[] =>
    $(where)
      .find('.go')
      .map((_i, link) => $(link).text())
      .get();

  it('folds a visit under its first request', async () => {
    const [login = '', account = '', cart = ''] = await record(
      { method: 'POST', url: '/login', status: 302, responseHeaders: ['Location', '/account?tab=1'] },
      { url: '/account?tab=1', headers: DOCUMENT },
      { url: '/api/cart', headers: asked('/account?tab=1') },
    );
    const $ = await page();
    expect($(`#r-${login} .unfold`).text()).to.equal('1 redirect, 1 fetch');
    expect($(`#r-${login} .to`).text()).to.equal('→ /account?tab=1');
    expect(
      $(`#k-${login} tr`)
        .map((_i, row) => row.attribs.id)
        .get(),
    ).to.deep.equal([`r-${account}`, `r-${cart}`]);
    expect((await page('?sort=time'))('.unfold')).to.have.length(0);
  });

  it('keeps the list where a filter was typed wrong, and marks its field', async () => {
    await record({ url: '/kept' }, { url: '/other' });
    for (const query of ['?status=99999&url=kept', '?q=status:99999+url:kept']) {
      const response = await fetch(`${server.address}/_profiler/search${query}`);
      expect(response.status).to.equal(400);
      const $ = load(await response.text());
      expect(urlsIn($, '#found'), query).to.deep.equal(['/kept']);
      expect($('[name=status]').attr()).to.include({ value: '99999', 'aria-invalid': 'true' });
      expect($('[aria-invalid]').length).to.equal(1);
      expect($('#wrong li').text()).to.equal(
        '“Status” is "99999"; give a status such as 404, a class such as 4xx, a list such as 404,500, or >=400. The list ignores it.',
      );
      expect($('[data-live]').length).to.equal(0);
    }
    const several = await fetch(`${server.address}/_profiler/?from=notadate&has=everything&limit=none`);
    expect(load(await several.text())('.filter [aria-invalid]')).to.have.length(2);
    expect((await fetch(`${server.address}/_profiler/search.json?status=99999`)).status).to.equal(400);
  });

  it('says how far a search looked, and goes on behind it', async () => {
    const at = Date.parse('2026-11-20T10:00:00Z');
    const stored = (number: number, message: string): StoreItem => {
      const text = JSON.stringify({ panels: { logs: { data: { lines: [{ message }] } } } });
      return { row: itemOf(number, { startedAt: at + number }).row, text };
    };
    // One more than a search looks at: the only match is the oldest.
    fixture.store.add([
      stored(0, 'a kettle'),
      ...Array.from({ length: 20_000 }, (_, index) => stored(index + 1, 'a cup')),
    ]);
    let $ = await page('?text=kettle');
    const olderAt = (place: string): string | undefined =>
      $(`${place} a:contains("Search older ones")`).attr('href');
    let searches = 1;
    for (let next = olderAt('.empty'); next !== undefined; next = olderAt('.empty')) {
      // A search also ends after a second, which a busy machine uses up sooner.
      const [, looked = ''] = /Not found in the newest ([\d,]+) matching/.exec($('#found').text()) ?? [];
      expect(Number(looked.replace(',', ''))).to.be.within(1, 20_000);
      expect(olderAt('p.note')).to.equal(next);
      $ = load(await (await fetch(new URL(next, server.address))).text());
      searches++;
    }
    expect(searches).to.be.above(1);
    expect($('#r-000000')).to.have.length(1);
    expect(olderAt('')).to.equal(undefined);
    expect($('#found').text()).to.match(/Searched all [\d,]+ matching requests/);
  });

  it('leads from a profile to the requests before and after it in a chain of redirects', async () => {
    const [first = '', second = '', last = ''] = await record(
      { method: 'POST', url: '/login', status: 302, responseHeaders: ['Location', '/account'] },
      { url: '/account', status: 302, responseHeaders: ['Location', '/account/1'] },
      { url: '/account/1', headers: DOCUMENT },
      { url: '/account/1/other' },
    );
    const facts = async (token: string): Promise<string[]> => {
      const $ = load(await (await fetch(`${server.address}/_profiler/${token}`)).text());
      return $('.facts dt')
        .filter((_i, term) => $(term).text().startsWith('Redirected'))
        .map(
          (_i, term) => `${$(term).text()} ${$(term).next().text()} ${$(term).next().find('a').attr('href')}`,
        )
        .get();
    };
    expect(await facts(first)).to.deep.equal([
      `Redirected to GET /account /_profiler/${second}?panel=overview`,
    ]);
    expect(await facts(second)).to.deep.equal([
      `Redirected from POST /login /_profiler/${first}?panel=overview`,
      `Redirected to GET /account/1 /_profiler/${last}?panel=overview`,
    ]);
    expect(await facts(last)).to.deep.equal([
      `Redirected from GET /account /_profiler/${second}?panel=overview`,
    ]);
  });

  it('marks what is wrong in the tone that the profile has', async () => {
    const [token = ''] = await record({});
    const $ = await page();
    expect($(`#r-${token} .badge.bad`).text()).to.equal('N+1');
    expect($(`#r-${token} .badge.warn`).text()).to.equal('slow call');
    expect(urlsIn(await page('?has=n%2B1'), '#rows')).to.have.length(1);
    expect(urlsIn(await page('?mark=slow'), '#rows')).to.have.length(1);
    expect((await page('?has=no-finding'))('.empty')).to.have.length(1);
  });

  it('finds a text and shows where it stands, and how far it looked', async () => {
    await record({ url: '/a' }, { url: '/b"<i>' });
    const $ = await page('?q=SHIPPED+/b%22%3Ci');
    expect(urlsIn($, '#rows')).to.deep.equal(['/b"<i>']);
    expect($('#rows .why').text()).to.equal('Logs: shipped /b"<i>');
    expect($('#rows mark').text()).to.equal('shipped /b"<i');
    expect($('.note[role=status]').text()).to.contain('Searched all 2 matching requests');
    expect($('[name=text]').attr('value')).to.equal('SHIPPED /b"<i');
    expect($('thead a')).to.have.length(0);
    expect($('[aria-sort]').text()).to.equal('At, UTC ↓');
    expect((await page('?text=nowhere'))('.empty').text()).to.contain('No stored request matches');
  });

  it('counts its saved views, and draws requests over time', async () => {
    await record({}, { status: 500 }, { status: 404 });
    const $ = await page();
    expect(
      $('#views a')
        .map((_i, link) => $(link).text())
        .get(),
    ).to.deep.equal([
      'All 3',
      'Errors 1',
      '5xx 1',
      '4xx 1',
      'Over 1 s 0',
      'N+1 3',
      'Pinned 0',
      'Summaries 0',
      'Jobs',
      'Profiler’s own pages',
    ]);
    expect($('.histogram').attr('aria-label')).to.match(
      /^3 requests from .+ to .+, 1 of them failed; at most 3 in 15\.00 s$/,
    );
    expect($('.histogram path')).to.have.length(2);
    expect((await page('?has=error'))('.histogram').attr('aria-label')).to.match(/^1 request from/);
  });

  it('offers to tell of new requests only where the newest stand first', async () => {
    await record({}, {});
    expect((await page('?status=2xx'))('[data-live]').attr('data-live')).to.equal(
      '/_profiler/live?status=2xx',
    );
    for (const query of ['?sort=time', '?order=asc', '?page=2&limit=1', '?text=x', '?until=2026-11-20'])
      expect((await page(query))('[data-live], #live'), query).to.have.length(0);
  });

  it('folds what is polled before it fills a page', async () => {
    const polled = Array.from({ length: 60 }, () => ['/poll', '/other']);
    const all = ['/first', '/second', ...polled.flat(), '/last'];
    fixture.store.add(
      all.map((url, number) => itemOf(number, { url, route: url, startedAt: Date.now() - 1000 + number })),
    );
    const $ = await page('?limit=4');
    const urls = (of: CheerioAPI): string[] =>
      of('#rows > tbody:not([id]) .go')
        .map((_i, link) => of(link).text())
        .get();
    expect(urls($)).to.deep.equal(['/last', '/other', '/poll', '/second']);
    expect($('.unfold').first().text()).to.equal('59 identical');
    expect($('#rows > tbody[id]').first().find('tr')).to.have.length(6);
    expect($('#rows > tbody[id]').first().text()).to.match(/54 more\. +Search for them, oldest first/);
    expect($('#found .note').text()).to.contain('1 to 122 of 123 requests in 4 rows.');
    const older = $('a[rel=next]').attr('href') ?? '';
    expect(older).to.equal('/_profiler/search?limit=4&skip=122');
    const next = await page(older.replace(/^[^?]*/, ''));
    expect(urls(next)).to.deep.equal(['/first']);
    expect(next('a[rel=next]')).to.have.length(0);
    expect(next('[data-live]')).to.have.length(0);
    expect(next('nav[aria-label=Pages] a').attr('href')).to.equal('/_profiler/search?limit=4');
  });

  it('streams what is new to a list, as events', async () => {
    const ending = new AbortController();
    const response = await fetch(`${server.address}/_profiler/live?status=5xx`, { signal: ending.signal });
    expect(response.headers.get('content-type')).to.equal('text/event-stream');
    expect(response.headers.get('cache-control')).to.contain('no-transform');
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let text = '';
    const hear = async (wanted: string): Promise<void> => {
      while (!text.includes(wanted)) text += Buffer.from((await reader.read()).value ?? []).toString();
    };
    await hear('retry: 2000\n\n');
    await hear('data: {"now":[]}\n\n');
    const [, failed = ''] = await record({}, { status: 500 });
    await hear(`data: {"new":["${failed}"]}\n\n`);
    expect(text.match(/data/g)).to.have.length(2);
    ending.abort();
    expect((await fetch(`${server.address}/_profiler/live?status=x`)).status).to.equal(400);
  });

  it('says in JSON what is pinned and where a text was found', async () => {
    const [token = ''] = await record({ url: '/a' });
    await fixture.profiles.keep(token, true);
    const answer = await fetch(`${server.address}/_profiler/search.json?text=shipped`);
    const body = (await answer.json()) as Record<string, unknown>;
    expect(body).to.deep.include({ version: 1, pinned: [token] });
    expect(body.looked).to.deep.equal({
      count: 1,
      all: true,
      oldest: (await fixture.profiles.read(token))?.profile.startedAt,
      found: { [token]: { panel: 'logs', before: '', text: 'shipped', after: ' /a' } },
    });
  });
});
