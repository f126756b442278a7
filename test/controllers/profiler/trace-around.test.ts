/** A request that the application makes of itself: folded in the list, below its call in the timeline, with a link to its caller. */
import { expect } from 'chai';
import { load } from 'cheerio';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import express from 'express';
import { createProfiler } from '../../../app/index.ts';
import { readCalled, readTraceAround } from '../../../app/controllers/profiler/trace-around.ts';
import { createMemoryStore } from '../../support/memory-store.ts';
import { close, listen } from '../../support/listen.ts';
import { until } from '../../support/waiting.ts';
import { finalProfile } from '../../support/final-profile.ts';

describe('a request that another one made', () => {
  const storage = createMemoryStore();
  const options = { traceHosts: ['127.0.0.1'], warn: () => undefined, storage };
  const profiler = createProfiler(options);
  let origin = '';
  let caller = '';
  let called = '';
  let server: ReturnType<ReturnType<typeof express>['listen']>;

  const read = async (path: string): Promise<string> => (await fetch(`${origin}${path}`)).text();

  before(async () => {
    const app = express();
    app.use(profiler.watch, profiler.pages);
    app.get('/api/prices', async (_request, response) => {
      await profiler.span('add up prices', () => sleep(5));
      response.json([1, 2]);
    });
    app.get('/checkout', async (_request, response) => {
      const prices = await fetch(`${origin}/api/prices`);
      called = prices.headers.get('x-debug-token') ?? '';
      response.json(await prices.json());
    });
    app.get('/loop', async (_request, response) => {
      for (let times = 0; times < 12; times++) await (await fetch(`${origin}/api/prices?${times}`)).text();
      response.send('ok');
    });
    app.get('/far/:port', async (request, response) => {
      const quote = await fetch(`http://127.0.0.1:${request.params.port}/quote`);
      await quote.text();
      response.send(quote.headers.get('x-debug-token'));
    });
    ({ server, origin } = await listen(app));
    caller = (await finalProfile(profiler, await fetch(`${origin}/checkout`))).token;
    await finalProfile(profiler, called);
  });
  after(() => close(server, profiler));

  it('is folded under it in the list, and a search for it finds it', async () => {
    const $ = load(await read('/_profiler/'));
    expect($(`#r-${caller} .unfold`).text()).to.equal('1 call');
    expect($(`#r-${caller} .unfold`).attr('href')).to.equal(`#k-${caller}`);
    expect($(`#k-${caller} tr.kid`).attr('id')).to.equal(`r-${called}`);
    const found = load(await read('/_profiler/search?url=/api/prices'));
    expect(found(`#r-${called}`).attr('class')).to.equal(undefined);
    const { profiles } = JSON.parse(await read('/_profiler/search.json')) as {
      profiles: { traceId: string }[];
    };
    const ofTrace = load(await read(`/_profiler/search?q=trace:${profiles[0]?.traceId}`));
    expect(ofTrace('#rows tr[id]').length).to.equal(2);
    expect(ofTrace('input[type=hidden][name=trace]').val()).to.equal(profiles[0]?.traceId);
  });

  it('stands with its own work below the call in the timeline', async () => {
    const $ = load(await read(`/_profiler/${caller}?panel=timeline&over=0`));
    const rows = $('#wf tbody tr.called').toArray();
    const names = rows.map((row) => $(row).find('th bdi').first().text());
    expect(names[0]).to.equal('GET /api/prices');
    expect(names).to.include('add up prices');
    const [root] = rows;
    expect($(root).find('th a.mono').attr('href')).to.equal(`/_profiler/${called}`);
    expect($(root).prev().find('th bdi').text()).to.contain(`GET ${new URL(origin).host}/api/prices`);
    const span = $(rows[names.indexOf('add up prices')]).find('th a').attr('href') ?? '';
    expect(span).to.match(new RegExp(`^${called}\\?panel=`));
    const address = new URL(span, `${origin}/_profiler/${caller}`);
    const panel = load(await read(address.pathname + address.search));
    expect(panel('#token').text()).to.equal(called);
    expect(panel(address.hash).length).to.equal(1);
    expect($('main .note').text()).to.contain('requests that this one made');
  });

  it('names the one that made it, and its call leads to it', async () => {
    const page = load(await read(`/_profiler/${called}`));
    const fact = page('.subject .facts dt:contains("Called by") + dd');
    expect(fact.text().replace(/\s+/g, ' ').trim()).to.equal(`GET /checkout ${caller}`);
    expect(fact.find('a').attr('href')).to.equal(`/_profiler/${caller}?panel=timeline`);
    const $ = load(await read(`/_profiler/${caller}?panel=http_client`));
    expect($(`#c1 a[href="/_profiler/${called}"]`).length).to.equal(1);
    expect($('.subject .facts').text()).to.not.contain('Called by');
    const step = load(await read(`/_profiler/${caller}`))('#a1 .was:contains("its profile")');
    expect(step.text().trim()).to.equal(`its profile GET /api/prices (${called})`);
    expect(step.find('a').attr('href')).to.equal(`/_profiler/${called}?panel=overview`);
  });

  it('stands there without a trace, too, by the token of its response, if it is such a request', async () => {
    const { profile } = (await profiler.profiles.read(caller))!;
    const call = {
      method: 'GET',
      url: `${origin}/api/prices`,
      startMs: 0,
      durationMs: 60_000,
      requestHeaders: [],
    };
    const withCall = async (changes: object): Promise<string[]> => {
      const calls = [{ ...call, link: `${origin}/_profiler/${called}`, ...changes }];
      const http = { ...profile.panels.http_client!, data: { calls } };
      const untraced = { ...profile, trace: undefined, panels: { ...profile.panels, http_client: http } };
      const around = await readTraceAround(profiler, untraced);
      return [...(await readCalled(profiler, untraced, around))].map(
        ([anchor, { token }]) => `${anchor} ${token}`,
      );
    };
    expect(await withCall({})).to.deep.equal([`c1 ${called}`]);
    for (const other of [{ method: 'POST' }, { url: `${origin}/api` }, { startMs: 90_000 }, { link: null }])
      expect(await withCall(other), JSON.stringify(other)).to.deep.equal([]);
  });

  it('may be of another application that shares the storage', async () => {
    const others = createProfiler({ ...options, storage: { ...storage, close: () => Promise.resolve() } });
    const pricing = express();
    pricing.use(others.watch);
    pricing.get('/quote', (_request, response) => void response.json({ total: 3 }));
    const { server: other } = await listen(pricing);
    try {
      const { port } = other.address() as AddressInfo;
      const response = await fetch(`${origin}/far/${port}`);
      const quoted = await response.text();
      const token = response.headers.get('x-debug-token') ?? '';
      await until(
        async () =>
          (await others.profiles.read(quoted))?.source === 'stored' &&
          (await profiler.profiles.read(token))?.source === 'stored',
        'both profiles in the storage',
      );
      expect(load(await read('/_profiler/'))(`#k-${token} tr.kid`).attr('id')).to.equal(`r-${quoted}`);
      const $ = load(await read(`/_profiler/${token}?panel=timeline&over=0`));
      expect($('#wf tr.called th a.mono').attr('href')).to.equal(`/_profiler/${quoted}`);
    } finally {
      await close(other, others);
    }
  });

  it('is listed below it ten times at most, with a link to all of the trace', async () => {
    const { token } = await finalProfile(profiler, await fetch(`${origin}/loop`));
    const $ = load(await read('/_profiler/'));
    expect($(`#r-${token} .unfold`).text()).to.equal('12 calls');
    expect($(`#k-${token} tr[id]`).length).to.equal(10);
    const left = $(`#k-${token} tr:not([id])`);
    expect(left.text().replace(/\s+/g, ' ').trim()).to.equal('2 more calls. All of this trace');
    const all = load(await read(left.find('a').attr('href') ?? ''));
    expect(all('#rows tr[id]').length).to.equal(13);
  });

  it('is not hidden by a header of a stranger', async () => {
    const traceId = 'f'.repeat(32);
    const response = await fetch(`${origin}/api/prices?forged`, {
      headers: { traceparent: `00-${traceId}-${caller}0123456789-01` },
    });
    const { token } = await finalProfile(profiler, response);
    expect(load(await read('/_profiler/'))(`#r-${token}`).attr('class')).to.equal(undefined);
    expect(load(await read(`/_profiler/${token}`))('.subject .facts').text()).to.not.contain('Called by');
  });
});
