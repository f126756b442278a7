import { expect } from 'chai';
import express from 'express';
import { withFindingsApp } from '../support/findings-app.ts';

describe('finding route-shadowed', () => {
  const ask = withFindingsApp((app) => {
    const orders = express.Router();
    orders.get('/:id', (req, res) => res.status(req.params.id === 'fine' ? 200 : 400).send('x'));
    orders.get('/recent', (_req, res) => res.send('recent'));
    orders.get('/fine', (_req, res) => res.send('fine'));
    orders.post('/other', (_req, res) => res.send('other'));
    app.all('/passed/*rest', (_req, _res, next) => next());
    app.use('/passed', express.json());
    app.post('/passed/on', (_req, res) => res.send('x'));
    orders.get('/file/*path', (_req, res) => res.send('cached'));
    orders.get('/file/list', (_req, res) => res.send('list'));
    app.use('/orders', orders);
  });

  it('names both routes', async () => {
    const [finding] = (await ask('/orders/recent')).of('route-shadowed');
    expect(finding).to.include({
      label: 'shadowed route',
      broke: 'response',
      sentence: 'GET /orders/:id answered 400; GET /orders/recent also matches, but is registered after it',
    });
    expect(finding?.place).to.match(/route-shadowed\.test\.ts:\d+$/);
  });

  it('ignores a route that called next() to what responded', async () => {
    const init = { method: 'POST', body: '{x', headers: { 'content-type': 'application/json' } };
    const { status, of } = await ask('/passed/on', init);
    expect(status).to.equal(400);
    expect(of('route-shadowed')).to.deep.equal([]);
  });

  it('also where the earlier route answered with a success', async () => {
    const [finding] = (await ask('/orders/fine')).of('route-shadowed');
    expect(finding).to.include({
      broke: 'unseen',
      sentence: 'GET /orders/:id answered 200; GET /orders/fine also matches, but is registered after it',
    });
  });

  it('ignores a wildcard that succeeds, another method and a path that no other route has', async () => {
    for (const path of ['/orders/file/list', '/orders/other', '/orders/none'])
      expect((await ask(path)).of('route-shadowed'), path).to.deep.equal([]);
  });
});
