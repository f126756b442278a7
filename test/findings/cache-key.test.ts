/** Cached values of another parameter, with a real Redis and another service. */
import { expect } from 'chai';
import express, { type Request } from 'express';
import { Redis } from 'ioredis';
import { withFindingsApp } from '../support/findings-app.ts';
import { keptQueries, keptRequest } from '../support/kept-queries.ts';
import { withRedis } from '../support/redis.ts';
import { withUpstream } from '../support/upstream.ts';
import { draftsOf } from '../support/find-by-rule.ts';

describe('findings about keys of a cache', () => {
  const path = withRedis();
  const upstream = withUpstream((_req, res) => res.end('7'));
  let redis: Redis;
  async function cached(key: string, query: string): Promise<string> {
    const found = await redis.get(key);
    if (found !== null) return found;
    const result = await (await fetch(`${upstream()}/prices?${query}`)).text();
    await redis.set(key, result, 'EX', 60);
    return result;
  }
  const queryOf = (req: Request): string =>
    new URLSearchParams(req.query as Record<string, string>).toString();

  const ask = withFindingsApp((app) => {
    app.get('/lacks/:sku', async (req, res) => {
      const amount = await cached(`price:${req.params.sku}`, queryOf(req));
      res.json({ amount, currency: req.query.currency ?? 'EUR' });
    });
    app.get('/has/:sku', async (req, res) => {
      const { currency = 'EUR' } = req.query as { currency?: string };
      const amount = await cached(`has:${req.params.sku}:${currency.toLowerCase()}`, queryOf(req));
      res.json({ amount, currency });
    });
    app.get('/unused/:sku', async (req, res) => {
      res.json({ amount: await cached(`unused:${req.params.sku}`, 'all'), sort: req.query.sort });
    });
    app.get('/tariff/:country', async (req, res) => {
      const { service = 'standard', sort = 'price' } = req.query as { service?: string; sort?: string };
      const key = req.params.country === 'keyed' ? `tariff:keyed:${service}` : `tariff:${req.params.country}`;
      const cents = await cached(key, `service=${service}&sort=price`);
      if (req.params.country === 'anew') await fetch(`${upstream()}/fees?service=${service}`);
      res.json({ cents, service, sort });
    });
    const stall = express.Router({ mergeParams: true });
    stall.get('/menu', async (req: Request<{ stall: string }>, res) => {
      res.json({ menu: await cached(`page:${req.path}`, `stall=${req.params.stall}`), of: req.params.stall });
    });
    app.use('/stalls/:stall', stall);
    app.get('/tracked/:sku', async (req, res) => {
      res.json({ amount: await cached(`tracked:${req.params.sku}`, queryOf(req)) });
    });
    app.get('/greeting/:id', async (req, res) => {
      const lang = (req.headers['accept-language'] ?? '').split('-')[0] ?? '';
      const key = req.params.id === 'keyed' ? `greeting:keyed:${lang}` : `greeting:${req.params.id}`;
      res.json({ text: await cached(key, req.params.id === 'same' ? 'all' : `language=${lang}`) });
    });
    for (const kind of ['stores', 'suppliers'])
      for (const key of ['mounted', 'whole'] as const)
        app.use(`/${key}/${kind}`, async (req, res) => {
          const name = `response:${key === 'whole' ? req.originalUrl : req.url}`;
          const found = await redis.get(name);
          if (found !== null) return res.type('json').send(found);
          await redis.set(name, JSON.stringify({ kind, url: req.url }), 'EX', 60);
          return res.json({ kind, url: req.url });
        });
  });
  before(async () => {
    redis = new Redis({ path: path() });
  });
  after(() => redis?.disconnect());

  it('name a parameter that made the value and is not in its key', async () => {
    await ask('/lacks/tent?currency=EUR');
    expect((await ask('/lacks/tent?currency=EUR')).of('answer-of-another')).to.deep.equal([]);
    const [finding] = (await ask('/lacks/tent?currency=CHF')).of('answer-of-another');
    expect(finding?.sentence).to.match(
      /^The cache key price:tent lacks currency: the value found is that of a request with currency EUR \(\w+\), which had it from GET 127\.0\.0\.1:\d+\/prices, and this one has currency CHF$/,
    );
    expect(finding).to.include({ panel: 'cache', anchor: 'k1', severity: 'bad' });
    expect(finding?.place).to.match(/cache-key\.test\.ts:16$/);
    expect((await ask('/lacks/tent')).of('answer-of-another')[0]?.sentence).to.contain('has no currency');
  });

  it('name a parameter for which a default made the value', async () => {
    await ask('/tariff/CH');
    const [finding] = (await ask('/tariff/CH?service=express')).of('answer-of-another');
    expect(finding?.sentence).to.match(
      /^The cache key tariff:CH lacks service: the value found is that of a request with no service \(\w+\), which had it from GET 127\.0\.0\.1:\d+\/prices with service standard, and this one has service express$/,
    );
    expect(finding).to.include({ panel: 'cache', anchor: 'k1', severity: 'bad' });
    for (const [first, second] of [
      ['/tariff/NL', '/tariff/NL?service=standard'],
      ['/tariff/keyed', '/tariff/keyed?service=express'],
      ['/tariff/anew', '/tariff/anew?service=express'],
      ['/tariff/BE', '/tariff/BE?sort=name'],
    ] as const) {
      await ask(first);
      expect((await ask(second)).of('answer-of-another'), second).to.deep.equal([]);
    }
  });

  it('say what a router takes from the path of a key', async () => {
    await ask('/stalls/grill/menu');
    const [finding] = (await ask('/stalls/noodle/menu')).of('answer-of-another');
    expect(finding?.sentence).to.contain('The cache key page:/menu lacks stall');
    expect(finding?.fix).to.contain('`req.originalUrl`');
    await ask('/lacks/tent?currency=USD');
    const [other] = (await ask('/lacks/tent?currency=CHF')).of('answer-of-another');
    expect(other?.fix).to.equal(undefined);
  });

  it('ignore a parameter that is in the key, made nothing, or only names the request', async () => {
    for (const [first, second] of [
      ['/has/tent?currency=CHF', '/has/tent?currency=chf'],
      ['/has/stove?currency=EUR', '/has/stove'],
      ['/unused/tent?sort=name', '/unused/tent?sort=price'],
      ['/tracked/tent?trace=abc', '/tracked/tent?trace=abd'],
    ] as const) {
      await ask(first);
      expect((await ask(second)).of('answer-of-another'), second).to.deep.equal([]);
    }
  });

  it('name a response that another route had stored under the end of its address', async () => {
    await ask('/mounted/stores/2');
    const [finding] = (await ask('/mounted/suppliers/2')).of('cache-key-of-two');
    expect(finding?.sentence).to.match(
      /^The response came from the key response:\/2, which GET \/mounted\/stores\S* \(\w+\) had stored: the key only has the last part of the address, which both share: \/2$/,
    );
    expect(finding).to.include({ panel: 'cache', anchor: 'k1', severity: 'bad', broke: 'response' });
    expect((await ask('/mounted/stores/2')).of('cache-key-of-two'), 'its own').to.deep.equal([]);
    await ask('/whole/stores/2');
    expect((await ask('/whole/suppliers/2')).of('cache-key-of-two')).to.deep.equal([]);
  });

  it('name a header that made the value and is not in its key', async () => {
    const of = async (id: string, language: string) =>
      (await ask(`/greeting/${id}`, { headers: { 'Accept-Language': language } })).of('answer-of-another');
    await of('7', 'de-CH');
    expect((await of('7', 'en-GB'))[0]?.sentence).to.match(
      /^The cache key greeting:7 lacks accept-language: the value found is that of a request with accept-language de-CH \(\w+\), which had it from GET 127\.0\.0\.1:\d+\/prices, and this one has accept-language en-GB$/i,
    );
    expect(await of('7', 'de-AT')).to.deep.equal([]);
    for (const id of ['keyed', 'same']) {
      await of(id, 'de');
      expect(await of(id, 'en'), id).to.deep.equal([]);
    }
  });

  it('name a header through which another value was chosen', () => {
    const get = { command: 'GET', key: 'product:LAMP-1', asked: 1, args: [], error: null, durationMs: 1 };
    const requestOf = (header: string, value: string) => ({
      ...keptRequest({ params: { sku: 'LAMP-1' }, sent: { cents: 4900 } }),
      headers: [{ name: header, value }],
    });
    const found = (header: string, bound: Record<string, string>) => {
      const fill = { ...get, command: 'SET', startMs: 5 };
      const filler = {
        head: { token: 'a0', url: '/products/LAMP-1', startedAt: 0 },
        kept: {
          request: requestOf(header, 'de'),
          cache: { items: [{ ...get, hits: 0, startMs: -2 }, fill] },
          database: keptQueries({
            sql: 'select cents from prices where sku = $1 and currency = $2',
            bindings: bound,
          }),
        },
      };
      const kept = { request: requestOf(header, 'us'), cache: { items: [{ ...get, hits: 1, startMs: 0 }] } };
      return draftsOf(
        'answer-of-another',
        kept,
        { startedAt: 100, url: '/products/LAMP-1' },
        { earlier: [filler] },
      );
    };
    const [finding] = found('X-Market', { sku: 'LAMP-1', currency: 'EUR' });
    expect(finding?.severity).to.equal('warn');
    expect(finding?.sentence).to.equal(
      'The cache key product:LAMP-1 lacks X-Market, and the currency that may depend on it: the value found is that of a request with X-Market de (a0), which had it from select … from prices, and this one has X-Market us',
    );
    expect(found('X-Market', { sku: 'LAMP-1' })).to.deep.equal([]);
    expect(found('X-Market', { sku: 'LAMP-1', state: 'sold' })).to.deep.equal([]);
    expect(found('X-Trace', { sku: 'LAMP-1', currency: 'EUR' })).to.deep.equal([]);
  });
});
