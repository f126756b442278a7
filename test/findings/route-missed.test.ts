import { expect } from 'chai';
import express from 'express';
import { withFindingsApp } from '../support/findings-app.ts';

describe('finding route-missed', () => {
  const ask = withFindingsApp((app) => {
    const api = express.Router();
    api.get('/products', (_req, res) => res.json([]));
    app.use('/api', api);
    app.get('/orders/:id', (_req, res) => res.send('x'));
    app.get('/Account', (_req, res) => res.send('x'));
    app.set('case sensitive routing', true);
    app.get('/gone/now', (_req, res) => res.send('x'));
    app.use('/gone/now', (_req, res) => res.sendStatus(404));
    app.get('/gone', (_req, res) => res.sendStatus(404));
  });

  for (const [path, why] of [
    ['/ordrs/7', 'GET /orders/:id (one letter differs: “ordrs” is not “orders”)'],
    ['/products', 'GET /api/products (same end, but mounted deeper: the path lacks “/api”)'],
  ] as const)
    it(`names the closest route: ${path}`, async () => {
      const [finding] = (await ask(path)).of('route-missed');
      expect(finding).to.deep.include({
        label: 'similar route',
        severity: 'warn',
        sentence: `No route matches; closest is ${why}`,
        panel: 'routing',
        anchor: 'nearest',
      });
      expect(finding?.place).to.match(/^test\/findings\/route-missed\.test\.ts:\d+$/);
    });

  it('names the methods that the path allows', async () => {
    const [finding] = (await ask('/orders/7', { method: 'PUT' })).of('route-missed');
    expect(finding).to.include({
      label: 'wrong method',
      sentence: 'This path allows 1 method (GET), not PUT',
    });
  });

  it('ignores a client that asks which methods there are', async () => {
    const { of, status } = await ask('/gone/now', { method: 'OPTIONS' });
    expect(status).to.equal(404);
    expect(of('route-missed')).to.deep.equal([]);
  });

  it('ignores a path that resembles no route, and a route that answers 404 itself', async () => {
    for (const path of ['/completely/else', '/gone'])
      expect((await ask(path)).of('route-missed'), path).to.deep.equal([]);
  });
});

describe('finding route-missed where every path responds to preflights', () => {
  const ask = withFindingsApp((app) => {
    app.options('/{*path}', (_req, res) => res.sendStatus(204));
    app.get('/orders', (_req, res) => res.send('x'));
  });

  it('takes no path for one with another method', async () => {
    expect((await ask('/nowhere-at-all')).of('route-missed')).to.deep.equal([]);
  });

  it('still names the methods of a path that exists', async () => {
    const [finding] = (await ask('/orders', { method: 'PUT' })).of('route-missed');
    expect(finding?.sentence).to.equal('This path allows 1 method (GET), not PUT');
  });
});

describe('finding route-missed where a middleware is registered as a route for all paths', () => {
  const ask = withFindingsApp((app) => {
    app.get('/{*path}', (_req, _res, next) => next());
    app.get('/orders', (_req, res) => res.send('x'));
  });

  it('names the closest of the other routes', async () => {
    const [finding] = (await ask('/order')).of('route-missed');
    expect(finding?.sentence).to.match(/^No route matches; closest is GET \/orders /);
  });

  it('does not say that all paths allow its method', async () => {
    expect((await ask('/nowhere', { method: 'POST' })).of('route-missed')).to.deep.equal([]);
  });
});
