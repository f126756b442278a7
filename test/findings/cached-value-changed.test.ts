/** A cache in the process whose objects are changed after they were stored, with the real lru-cache. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { LRUCache } from 'lru-cache';
import { urls } from '../../app/urls.ts';
import { type Asked, withFindingsApp } from '../support/findings-app.ts';

const HERE = /^test\/findings\/cached-value-changed\.test\.ts:\d+$/;
const RULE = 'cached-value-changed';

interface Product {
  id: string;
  price: number;
  views: number;
  seenAt: string;
  tags: string[];
  label?: string;
}

describe('a cached value that was changed', () => {
  const cache = new LRUCache<string, Product>({ max: 100 });
  const lists = new LRUCache<string, Product[]>({
    max: 2,
    fetchMethod: async () => {
      const { length } = await (await fetch(shopUrl)).text();
      return Array.from({ length: 800 }, (_, at) => ({ id: `p${at}`, price: length + 800 - at, views: 0, seenAt: '', tags: [] })); // prettier-ignore
    },
  });
  let shop: Server;
  let shopUrl: string;

  before(async () => {
    shop = createServer((req, res) => {
      const product: Product = { id: req.url ?? '', price: 100, views: 7, seenAt: '2026-01-01T00:00:00.000Z', tags: ['lamp'] }; // prettier-ignore
      res.setHeader('content-type', 'application/json').end(JSON.stringify(product));
    });
    await new Promise<void>((done) => shop.listen(0, '127.0.0.1', done));
    shopUrl = `http://127.0.0.1:${(shop.address() as AddressInfo).port}`;
    await lists.fetch('older');
  });
  after(() => {
    shop?.closeAllConnections();
    shop?.close();
  });

  async function product(id: string): Promise<Product> {
    const found = cache.get(id);
    if (found !== undefined) return found;
    const loaded = (await (await fetch(`${shopUrl}/${id}`)).json()) as Product;
    cache.set(id, loaded);
    return loaded;
  }
  const CHANGES: Record<string, (one: Product) => void> = {
    price: (one) => (one.price *= 0.9),
    tags: (one) => one.tags.push('sale'),
    views: (one) => one.views++,
    seenAt: (one) => (one.seenAt = new Date().toISOString()),
    label: (one) => (one.label = `${one.price} EUR`),
    again: (one) => cache.set(one.id.slice(1), Object.assign(one, { price: 5 })),
  };
  const ask = withFindingsApp((app, profiler) => {
    profiler.observe('lru-cache', { LRUCache });
    app.get('/products/:id', async (req, res) => res.json(await product(req.params.id)));
    app.get('/prices/:id', async (req, res) => res.json({ total: (await product(req.params.id)).price + 1 }));
    app.get('/made/:id', (req, res) => {
      const { id } = req.params;
      if (!cache.has(id)) cache.set(id, { id, price: 100, views: 0, seenAt: '', tags: [] });
      res.json(cache.get(id));
    });
    app.all('/change/:what/:id', async (req, res) => {
      const { what, id } = req.params;
      const one = await product(id);
      CHANGES[what]?.(one);
      res.json(one);
    });
    app.get('/newest/:key', async (req, res) => res.json((await lists.fetch(req.params.key))?.slice(0, 6)));
    app.get('/cheapest/:key', async (req, res) => {
      const list = await lists.fetch(req.params.key);
      res.json(list?.sort((a, b) => a.price - b.price).slice(10, 20));
    });
    app.get('/loop', (_req, res) => {
      for (let at = 0; at < 30; at++) cache.get(`loop:${at}`);
      for (let at = 0; at < 30; at++) cache.get('loop:1');
      res.send('done');
    });
  });

  async function after_(what: string, { method = 'GET', read = '/products' } = {}): Promise<Asked> {
    const id = `${what}-${method}${read.replace('/', '-')}`;
    await ask(`${read}/${id}`);
    await ask(`/change/${what}/${id}`, { method });
    return ask(`${read}/${id}`);
  }

  it('is found in the response that has it, with who read it before the change', async () => {
    const { of, profile } = await after_('price');
    const [finding] = of(RULE);
    expect(finding).to.include({ severity: 'bad', broke: 'response', panel: 'cache', anchor: 'k1' });
    expect(finding?.sentence).to.match(/^GET found price-GET-products, stored by GET \/products\/:id \(\w+\) at test\S+, with a value that was changed in the cache: price was 100 when GET \/change\/:what\/:id \(\w+\) read it at test\S+, and is 90 now$/); // prettier-ignore
    expect(finding?.place).to.match(HERE);
    const page = await ask.page(urls.profileMarkdown(profile.token, 'cache'));
    expect(page).to.match(
      /changed in the cache since request \w+ read it \S+ m?s before: price was 100, is 90/,
    );
    const later = await ask('/products/price-GET-products');
    expect(later.of(RULE)[0]?.sentence, 'in each later response').to.equal(finding?.sentence);
  });

  it('is found if each request changes it, from the third on', async () => {
    const found: number[] = [];
    for (let at = 0; at < 3; at++) found.push((await ask('/change/price/each')).of(RULE).length);
    expect(found).to.deep.equal([0, 0, 1]);
  });

  it('is found in a list, too', async () => {
    const { of } = await after_('tags');
    expect(of(RULE)[0]?.sentence).to.include('tags.length was 1 when');
  });

  for (const [key, what] of Object.entries({ all: '', older: ' that was loaded before calls were observed' }))
    it(`is found in the order of a long list${what}`, async () => {
      await ask(`/newest/${key}`);
      expect((await ask(`/newest/${key}`)).of(RULE)).to.deep.equal([]);
      await ask(`/cheapest/${key}`);
      expect((await ask(`/newest/${key}`)).of(RULE)[0]?.sentence).to.match(
        /: 0\.id was p0 when GET \/cheapest\/:key \(\w+\) read it at test\S+, and is p799 now$/,
      );
    });

  it('is none where it may be meant: a count, a moment, a field that is added, a value that is stored again', async () => {
    for (const what of ['views', 'seenAt', 'label', 'again'])
      expect((await after_(what)).of(RULE), what).to.deep.equal([]);
  });

  it('is none if a request that is to change something did, or the response hasn’t the value', async () => {
    expect((await after_('price', { method: 'POST' })).of(RULE)).to.deep.equal([]);
    expect((await after_('price', { read: '/prices' })).of(RULE)).to.deep.equal([]);
  });

  it('is none if the application made the value: it may keep its state there', async () => {
    expect((await after_('price', { read: '/made' })).of(RULE)).to.deep.equal([]);
  });

  it('is named beside its step on the first page', async () => {
    const { profile } = await after_('price', { method: 'PUT' });
    const page = await ask.page(urls.profileMarkdown(profile.token));
    expect(page).to.match(/`cache` \| `GET price-PUT-products → .*`GET \/products\/:id \(\w+\), /);
    expect(page).to.include('price was 100, is 90');
  });

  it('read in a loop, or again, costs nothing', async () => {
    const { findings } = await ask('/loop');
    expect(findings.map(({ rule }) => rule)).to.deep.equal([]);
  });
});
