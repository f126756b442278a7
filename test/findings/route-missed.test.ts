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
    app.get('/gone', (_req, res) => res.sendStatus(404));
  });

  for (const [path, why] of [
    ['/ordrs/7', 'GET /orders/:id nearly does: one letter differs: “ordrs” is not “orders”'],
    ['/products', 'GET /api/products nearly does: same end, but mounted deeper: the path lacks “/api”'],
  ] as const)
    it(`names the route that was nearly asked for: ${path}`, async () => {
      const [finding] = (await ask(path)).of('route-missed');
      expect(finding).to.deep.include({
        label: 'near miss',
        severity: 'warn',
        sentence: `No route matches; ${why}`,
        panel: 'routing',
        anchor: 'nearest',
      });
      expect(finding?.place).to.match(/^test\/findings\/route-missed\.test\.ts:\d+$/);
    });

  it('names the methods that the path has', async () => {
    const [finding] = (await ask('/orders/7', { method: 'PUT' })).of('route-missed');
    expect(finding).to.include({
      label: 'wrong method',
      sentence: 'The path exists for 1 method, GET, not for PUT',
    });
  });

  it('says nothing of a path that is like none, nor of a route that answers 404 itself', async () => {
    for (const path of ['/completely/else', '/gone'])
      expect((await ask(path)).of('route-missed'), path).to.deep.equal([]);
  });
});
