import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CheerioAPI, load } from 'cheerio';
import { trendOf } from '../../../app/controllers/profiler/routes/routes-model.ts';
import type { Context } from '../../../app/profiler/record/context.ts';
import { usePagesEach } from '../../support/page-client.ts';
import { createPageFixture, type PageFixture, type Recorded } from '../../support/page-fixture.ts';
import { samplePanels, sampleRule } from '../../support/page-samples.ts';

describe('the pages of routes', () => {
  let fixture: PageFixture;
  const server = usePagesEach(() => (fixture = createPageFixture(samplePanels(), { rules: [sampleRule] })));

  const get = (path: string): Promise<Response> => fetch(`${server.address}/_profiler/${path}`);
  async function page(path: string): Promise<CheerioAPI> {
    const response = await get(path);
    expect(response.status, path).to.equal(200);
    return load(await response.text());
  }

  /** Records a request, and waits until it is stored: profiles are built a few at a time. */
  async function record(given: Recorded): Promise<Context> {
    const context = await fixture.record(given);
    while ((await fixture.profiles.read(context.token))?.source !== 'stored') await sleep(2);
    return context;
  }
  const answer = (pattern: string, given: Recorded = {}): Promise<Context> =>
    record({
      ...given,
      more: (context) => {
        const method = given.method ?? 'GET';
        context.add('route', { pattern, method, params: {}, handler: 'h', source: null });
      },
    });
  const rowsOf = ($: CheerioAPI): string[] =>
    $('#rt tbody .go')
      .map((_i, link) => $(link).text())
      .get();

  it('say what to do where nothing is kept', async () => {
    const $ = await page('routes');
    expect($('.empty').text()).to.contain('No stored request in this period.');
    expect($('nav[aria-label="Main"] [aria-current]').text()).to.equal('Routes');
  });

  it('list each route and method, with its requests, and those without a route by status', async () => {
    await answer('/orders/:id');
    await answer('/orders/:id');
    await answer('/orders/:id', { method: 'POST', status: 500 });
    await record({ url: '/nope', status: 404 });
    const $ = await page('routes?sort=route');
    expect(rowsOf($)).to.deep.equal(['no route, 404', '/orders/:id', '/orders/:id']);
    const get = $('#rt tbody tr').filter((_i, row) => $(row).find('.method').text() === 'GET');
    expect(get.find('[data-l=requests]').text()).to.equal('2');
    expect(get.find('[data-l=requests] a').attr('href')).to.equal(
      '/_profiler/search?route=%2Forders%2F%3Aid&method=GET',
    );
    const post = $('#rt tbody tr').filter((_i, row) => $(row).find('.method').text() === 'POST');
    expect(post.find('[data-l=errors]').hasClass('bad')).to.equal(true);
    expect(post.find('.trend path.bad')).to.have.length(1);
    expect($('[style]')).to.have.length(0);
  });

  it('link to the slowest and the newest request of a route', async () => {
    const first = await answer('/orders/:id');
    const last = await answer('/orders/:id');
    const $ = await page('routes');
    expect($('#rt [data-l=last] a').attr('href')).to.equal(`/_profiler/${last.token}?panel=overview`);
    const slowest = $('#rt [data-l=p95] a').attr('href') ?? '';
    expect([
      `/_profiler/${first.token}?panel=overview`,
      `/_profiler/${last.token}?panel=overview`,
    ]).to.include(slowest);
  });

  it('sort by each column that can be, and say by which', async () => {
    for (let i = 0; i < 3; i++) await answer('/b');
    await answer('/a', { method: 'PUT' });
    await answer('/c', { status: 503 });
    const order = async (query: string): Promise<string[]> => rowsOf(await page(`routes?${query}`));
    expect(await order('sort=route')).to.deep.equal(['/a', '/b', '/c']);
    expect(await order('sort=route&order=desc')).to.deep.equal(['/c', '/b', '/a']);
    expect((await order('sort=count'))[0]).to.equal('/b');
    expect((await order('sort=errors'))[0]).to.equal('/c');
    expect((await order('sort=method')).at(-1)).to.equal('/a');
    expect((await order('sort=last'))[0]).to.equal('/c');
    const $ = await page('routes?sort=count');
    expect($('th[aria-sort]').text()).to.equal('Requests ↓');
    expect($('th[aria-sort]').attr('aria-sort')).to.equal('descending');
    expect($('th[aria-sort] a').attr('href')).to.equal('/_profiler/routes?sort=count&order=asc');
    for (const link of $('#rt thead a').get()) await page(($(link).attr('href') ?? '').slice(11));
  });

  it('find routes by a part of their pattern, without script too', async () => {
    await answer('/orders/:id');
    await answer('/users/:id');
    expect(rowsOf(await page('routes?find=ORDERS'))).to.deep.equal(['/orders/:id']);
    expect((await page('routes?find=%3Cb%3E'))('.empty').text()).to.contain('“<b>”');
    const $ = await page('routes?since=24h&sort=count&find=users');
    expect($('form [name=since]').attr('value')).to.equal('24h');
    expect($('form [name=sort]').attr('value')).to.equal('count');
    expect($('form [name=find]').attr('value')).to.equal('users');
  });

  it('keep to a number of rows for each page', async () => {
    for (let i = 0; i < 43; i++) await answer(`/r${i}`);
    const first = await page('routes?sort=route');
    expect(rowsOf(first)).to.have.length(40);
    const on = first('a[rel=next]').attr('href') ?? '';
    const second = await page(on.slice(11));
    expect(rowsOf(second)).to.have.length(3);
    expect(second('a[rel=prev]')).to.have.length(1);
    expect(second('a[rel=next]')).to.have.length(0);
    expect(rowsOf(await page('routes?page=999'))).to.have.length(3);
  });

  it('show one route: figures, time, durations, findings, its requests', async () => {
    const first = await answer('/orders/:id', { url: '/orders/1' });
    await answer('/orders/:id', { url: '/orders/2' });
    await answer('/other');
    const $ = await page('routes?route=/orders/:id&method=GET');
    expect($('h1').text()).to.contain('GET').and.to.contain('/orders/:id');
    expect($('.metrics').text()).to.contain('requests2');
    expect($('#over-time svg path')).to.have.length(3);
    expect($('#over-time tbody tr').length).to.be.greaterThan(0);
    expect($('#durations tbody tr').length).to.be.greaterThan(0);
    expect($('#findings .badge').text()).to.equal('N+1');
    expect($('#findings li').text()).to.contain('2 requests');
    expect($('#newest tbody tr')).to.have.length(2);
    expect($(`#slowest a[href="/_profiler/${first.token}?panel=overview"]`).length).to.be.greaterThan(0);
    expect($('#newest').text()).to.not.contain('/other');
  });

  it('show the requests without a route of one status', async () => {
    await record({ url: '/nope', status: 404 });
    await answer('/routed', { url: '/routed', status: 404 });
    const $ = await page('routes?none=1&status=404');
    expect($('h1').text()).to.contain('no route, 404');
    expect($('.metrics').text()).to.contain('requests1');
    expect($('#newest').text()).to.contain('/nope').and.to.not.contain('/routed');
  });

  it('say that a route is not known', async () => {
    await answer('/orders/:id');
    const $ = await page('routes?route=/nosuch&method=GET');
    expect($('.empty').text()).to.contain('No stored request to this route');
  });

  it('stand behind a profile: what its route took before it, where that are enough', async () => {
    const tokens: string[] = [];
    for (let i = 0; i < 6; i++) {
      const { token } = await answer('/orders/:id');
      tokens.push(token);
      await sleep(2);
    }
    const [first = ''] = tokens;
    const $ = await page(tokens.at(-1) ?? '');
    expect($('.subject .facts').text()).to.match(/This route\s*median .* ms, p95 .* ms \(last 5\)/);
    const link = $('.subject a')
      .filter((_i, one) => $(one).text() === 'all requests')
      .attr('href');
    expect(link).to.equal('/_profiler/routes?route=%2Forders%2F%3Aid&method=GET&since=24h');
    expect((await page(first))('.subject .facts').text()).to.not.contain('This route');
    fixture.profiles.routePercentiles = () => Promise.resolve(null);
    await page(tokens[1] ?? '');
  });

  it('are given as JSON', async () => {
    const { token } = await answer('/orders/:id');
    const response = await get('routes.json?since=15m');
    expect(response.headers.get('content-type')).to.equal('application/json; charset=utf-8');
    const body = (await response.json()) as Record<string, unknown> & { routes: Record<string, unknown>[] };
    expect(body).to.include({ version: 1, since: '15m', notice: null, looked: 1, newestOnly: false });
    expect(body.routes[0]).to.include({ route: '/orders/:id', method: 'GET', count: 1, newest: token });
  });

  it('answer 400 with a sentence to what can’t be meant', async () => {
    const cases: [query: string, name: string][] = [
      ['since=yesterday', 'since'],
      ['sort=colour', 'sort'],
      ['order=up', 'order'],
      ['page=0', 'page'],
      ['page=x', 'page'],
      ['status=4xx&none=1', 'status'],
      ['none=2', 'none'],
      ['none=1&route=/a', 'none'],
      ['route=/a', 'method'],
      ['since=1h&since=24h', 'since'],
      ['route[]=/a', 'route'],
    ];
    for (const [query, name] of cases) {
      const response = await get(`routes?${query}`);
      expect(response.status, query).to.equal(400);
      expect(await response.text(), query).to.match(new RegExp(`^The filter "${name}" `));
    }
  });

  it('say why where the storage can’t add up', async () => {
    fixture.profiles.summarize = () => Promise.reject(new Error('The stored profiles can’t be read now.'));
    for (const path of ['routes', 'routes?route=/a&method=GET']) {
      const $ = await page(path);
      expect($('[role=status].warn').text(), path).to.equal('The stored profiles can’t be read now.');
      expect($('.empty'), path).to.have.length(0);
    }
  });

  it('say where only the newest were looked at', async () => {
    await answer('/orders/:id');
    const { summarize } = fixture.profiles;
    fixture.profiles.summarize = (query) => summarize({ ...query, most: 1 });
    expect((await page('routes'))('.note.warn').text()).to.contain('Includes only the newest 1 request');
  });
});

describe('a trend', () => {
  const step = (p95Ms: number | null, errors = 0) => ({
    count: p95Ms === null ? 0 : 1,
    errors,
    p50Ms: p95Ms,
    p95Ms,
    maxMs: p95Ms,
  });

  it('draws each step against the highest, what failed by itself, and nothing where nothing was', () => {
    expect(trendOf([step(10), step(null), step(5, 1)])).to.deep.equal({
      box: '0 0 3 20',
      plain: 'M0 20v-20h0.8v20z',
      failed: 'M2 20v-10h0.8v10z',
    });
  });

  it('draws what took no time', () => {
    expect(trendOf([step(0)]).plain).to.equal('M0 20v-1h0.8v1z');
  });
});
