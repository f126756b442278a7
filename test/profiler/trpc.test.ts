import { expect } from 'chai';
import express from 'express';
import request from 'supertest';
import hindsight, { type Profiler } from '../../app/index.ts';

describe('requests of tRPC', () => {
  let app: express.Express;
  let profiler: Profiler;

  before(() => {
    app = express();
    profiler = hindsight(app, { enabled: true, warn: () => undefined });
    // As its adapter for Express responds.
    app.use('/api/trpc', (incoming, response) => {
      response.set('vary', 'trpc-accept, accept').status(incoming.path === '/nope' ? 404 : 200);
      response.json({ result: { data: 1 } });
    });
    app.use('/files', (_request, response) => void response.send('x'));
  });
  after(() => profiler.close());

  async function routeOf(path: string): Promise<string | null> {
    const { headers } = await request(app).get(path);
    const found = await profiler.profiles.read(headers['x-debug-token'] ?? '');
    return found?.profile.route ?? null;
  }

  it('are told apart by their procedures', async () => {
    expect(await routeOf('/api/trpc/orders.list?input=%7B%7D')).to.match(/^\/api\/trpc.* · orders\.list$/);
    expect(await routeOf('/api/trpc/orders.list,user.me?batch=1')).to.match(/ · orders\.list,user\.me$/);
    expect(await routeOf('/api/trpc/nope')).to.equal(null);
    expect(await routeOf('/files/orders.list')).to.not.contain('orders');
  });
});
