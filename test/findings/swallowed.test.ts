import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { expect } from 'chai';
import { withFindingsApp } from '../support/findings-app.ts';
import { withUpstream } from '../support/upstream.ts';

describe('findings about what a call said', () => {
  const upstream = withUpstream((req, res) => {
    const { pathname } = new URL(req.url ?? '/', 'http://upstream');
    res.setHeader('content-type', 'application/json');
    if (pathname === '/reviews') {
      res.setHeader('link', '</reviews?page=2>; rel="next"').setHeader('x-total-count', '25');
      res.end(JSON.stringify([1, 2, 3].map((id) => ({ id, stars: id }))));
      return;
    }
    if (pathname === '/basket') {
      res.end(JSON.stringify({ items: [{ price: 5 }, { price: 8 }], total: 13 }));
      return;
    }
    if (pathname === '/orders') {
      const data = [7, 8, 9].map((amount) => ({ amount }));
      res.end(JSON.stringify({ data, meta: { total: 11 }, links: { next: '/orders?page=2' } }));
      return;
    }
    res.statusCode = Number(/^\/(\d+)/.exec(pathname)?.[1] ?? 200);
    res.end(JSON.stringify({ offers: [] }));
  });
  const ask = withFindingsApp((app) => {
    const offers = async (path: string, init?: RequestInit): Promise<string[]> => {
      const answer = await fetch(`${upstream()}/${path}`, init);
      const { offers = [] } = (await answer.json()) as { offers?: string[] };
      return offers;
    };
    app.get('/offers/:status', async (req, res) => res.json(await offers(req.params.status)));
    app.get('/own-key/:status', async (req, res) =>
      res.json(await offers(req.params.status, { headers: { authorization: 'Bearer own' } })),
    );
    app.get('/told', async (_req, res) => {
      await offers('422');
      res.json({ offers: [], degraded: true });
    });
    app.get('/passed', async (_req, res) => {
      await offers('422');
      res.status(503).json([]);
    });
    app.get('/rating/:what', async ({ params: { what } }, res) => {
      const [answer] = (await once(
        get(
          `${upstream()}/reviews${({ asked: '?per_page=3', capped: '?per_page=50', batch: '?offset=0&limit=50' } as Record<string, string>)[what] ?? ''}`,
        ),
        'response',
      )) as [IncomingMessage];
      const reviews = (await json(answer)) as { id: number; stars: number }[];
      if (what === 'all') await (await fetch(`${upstream()}/reviews?page=2`)).json();
      if (what === 'list' || what === 'batch') res.json({ reviews });
      else if (what === 'one') res.json(reviews[0]);
      else if (what === 'newest') res.json({ newest: reviews[0]?.stars });
      else if (what === 'told') res.json({ average: 2, of: Number(answer.headers['x-total-count']) });
      else res.json({ reviews: reviews.length, average: 2 });
    });
    app.get('/basket', async (_req, res) => {
      const { items } = (await (await fetch(`${upstream()}/basket`)).json()) as { items: unknown[] };
      res.json({ items: items.length });
    });
    app.get('/revenue', async (_req, res) => {
      const { data } = (await (await fetch(`${upstream()}/orders`)).json()) as { data: { amount: number }[] };
      res.json({ revenue: data.reduce((sum, { amount }) => sum + amount, 0) });
    });
    app.get('/raw', async ({ query: { q } }, res) =>
      res.json(await offers(`books?lang=en&q=${typeof q === 'string' ? q : ''}`)),
    );
    app.get('/escaped', async ({ query: { q } }, res) =>
      res.json(
        await offers(`books?${new URLSearchParams({ q: typeof q === 'string' ? q : '' }).toString()}`),
      ),
    );
  });

  it('name a refusal that became a success', async () => {
    const [finding] = (await ask('/offers/422')).of('refusal-ignored');
    expect(finding).to.include({ label: 'refusal ignored', panel: 'http_client', anchor: 'c1' });
    expect(finding?.sentence).to.match(
      /^GET 127\.0\.0\.1:\d+\/422 was answered with 422, but this request still answered 200$/,
    );
    expect(finding?.place).to.match(/^test\/findings\/swallowed\.test\.ts:\d+$/);
    expect((await ask('/own-key/403')).of('refusal-ignored')).to.have.length(1);
    for (const path of [
      '/offers/200',
      '/offers/429',
      '/offers/404',
      '/offers/409',
      '/offers/401',
      '/told',
      '/passed',
    ])
      expect((await ask(path)).of('refusal-ignored'), path).to.deep.equal([]);
  });

  it('name a value that was cut in the query of a call', async () => {
    const sentences: Record<string, string> = {
      'R&D': 'q=R&D was sent unescaped: the service reads q=R, and a parameter D',
      'R & D, Ltd': 'q=R & D, Ltd was sent unescaped: the service reads q=R, and a parameter D, Ltd',
      'C# 12': 'q=C# 12 was sent unescaped: the service reads q=C',
      'C++': 'q=C++ was sent unescaped, and a + in a query is read as a space',
      '100%': 'q=100% was sent unescaped, and a % in a query begins an escape',
    };
    for (const [value, sentence] of Object.entries(sentences)) {
      const query = `?q=${encodeURIComponent(value)}`;
      const [finding] = (await ask(`/raw${query}`)).of('query-not-escaped');
      expect(finding?.sentence, value).to.equal(sentence);
      expect((await ask(`/escaped${query}`)).of('query-not-escaped'), value).to.deep.equal([]);
    }
    for (const value of ['books', 'a=1&b=2', '100%25', '&'])
      expect((await ask(`/raw?q=${encodeURIComponent(value)}`)).of('query-not-escaped'), value).to.deep.equal(
        [],
      );
  });

  it('name numbers that were made of the first page', async () => {
    const [finding] = (await ask('/rating/page')).of('first-page-only');
    expect(finding?.sentence).to.match(
      /\/reviews returned 3 of 25 entries \(its Link header names a next page\), and no call fetched the rest: reviews was computed from that part$/,
    );
    expect((await ask('/rating/capped')).of('first-page-only')).to.have.length(1);
    expect((await ask('/rating/batch')).of('first-page-only')[0]?.sentence).to.match(
      /\/reviews returned 3 of 25 entries, fewer than it was asked for \(its Link header names a next page\), and no call fetched the rest$/,
    );
    const [inBody] = (await ask('/revenue')).of('first-page-only');
    expect(inBody?.sentence).to.match(
      /\/orders returned 3 of 11 entries \(its body has links\.next\), and no call fetched the rest: revenue was computed from that part$/,
    );
    expect((await ask('/basket')).of('first-page-only'), 'an amount of money').to.deep.equal([]);
    for (const what of ['asked', 'all', 'list', 'one', 'told', 'newest'])
      expect((await ask(`/rating/${what}`)).of('first-page-only'), what).to.deep.equal([]);
  });
});
