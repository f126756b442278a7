import { expect } from 'chai';
import express from 'express';
import request from 'supertest';
import hindsight, { type Profiler } from '../../app/index.ts';

describe('requests of JSON-RPC', () => {
  let app: express.Express;
  let profiler: Profiler;

  before(() => {
    app = express();
    profiler = hindsight(app, { enabled: true, warn: () => undefined });
    app.post('/parsed', express.json(), (_request, response) => void response.json({ result: 1 }));
    // As the transport of an MCP server does, which reads the body itself.
    app.post('/read', (incoming, response) => {
      incoming.on('end', () => response.json({ result: 1 })).resume();
    });
  });
  after(() => profiler.close());

  async function routeOf(path: string, body: object): Promise<string | null> {
    const { headers } = await request(app).post(path).send(body).expect(200);
    const found = await profiler.profiles.read(headers['x-debug-token'] ?? '');
    return found?.profile.route ?? null;
  }

  it('are told apart by their method, those of MCP by the tool', async () => {
    for (const path of ['/parsed', '/read']) {
      const call = (method: unknown, params?: object): Promise<string | null> =>
        routeOf(path, { jsonrpc: '2.0', id: 1, method, params });
      expect(await call('orders.find', { name: 'x' })).to.equal(`${path} · orders.find`);
      expect(await call('tools/call', { name: 'search' })).to.equal(`${path} · tools/call search`);
      expect(await call('tools/call', {})).to.equal(`${path} · tools/call`);
      expect(await call('tools/call', { name: '<b>\n' })).to.equal(`${path} · tools/call`);
    }
  });

  it('have no method where it is none, or something else', async () => {
    for (const path of ['/parsed', '/read'])
      for (const body of [
        { jsonrpc: '2.0', method: 'a b' },
        { jsonrpc: '2.0', method: 'a'.repeat(101) },
        { jsonrpc: '2.0', method: { toString: 1 } },
        { jsonrpc: '1.0', method: 'find' },
        { method: 'find' },
        [{ jsonrpc: '2.0', method: 'find' }],
        { text: '"jsonrpc"' },
      ])
        expect(await routeOf(path, body)).to.equal(path);
  });
});
