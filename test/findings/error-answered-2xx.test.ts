import { expect } from 'chai';
import type { ErrorRequestHandler } from 'express';
import { withFindingsApp } from '../support/findings-app.ts';

describe('finding error-answered-2xx', () => {
  const ask = withFindingsApp((app) => {
    app.get('/hidden', async function showOrder() {
      await Promise.resolve();
      throw new Error('no such order');
    });
    app.get('/handed', function handOn(_req, _res, next) {
      next(new Error('no such order'));
    });
    app.get('/caught', (_req, res) => {
      try {
        throw new Error('expected');
      } catch {
        res.json({ found: false });
      }
    });
    app.get('/other', (_req, _res, next) => {
      next('route');
    });
    app.get('/other', (_req, res) => res.send('x'));
    app.get('/told', () => {
      throw new Error('told');
    });
    app.get('/rpc/:name', (req, res) => {
      // As tRPC responds to several calls at once.
      const { message, stack } = new RangeError('no such page');
      const failed = { message, code: -32603, data: { httpStatus: 500, stack, path: 'pages' } };
      const denied = {
        message: 'not you',
        code: -32001,
        data: { httpStatus: 401, stack: `TRPCError: not you\n    at a (/a.ts:1:1)` },
      };
      const errors = req.params.name === 'denied' ? [denied] : [denied, failed];
      res.status(207).json([{ result: { data: 1 } }, ...errors.map((error) => ({ error }))]);
    });
    const answer: ErrorRequestHandler = (error: Error, req, res, next) => {
      if (req.path === '/told') next(error);
      else res.json({ error: error.message });
    };
    app.use(answer);
  });

  for (const [path, name] of [
    ['/hidden', 'showOrder'],
    ['/handed', 'handOn'],
  ] as const)
    it(`names the layer that failed behind an answer of 200: ${path}`, async () => {
      const [finding] = (await ask(path)).of('error-answered-2xx');
      expect(finding).to.deep.include({
        label: 'error hidden',
        severity: 'warn',
        sentence: `${name} failed, but the request still answered 200`,
      });
      expect(finding?.place).to.match(/^test\/findings\/error-answered-2xx\.test\.ts:\d+$/);
    });

  it('names the line of a procedure that failed beside others', async () => {
    const [finding] = (await ask('/rpc/failed')).of('error-answered-2xx');
    expect(finding?.sentence).to.equal(
      'A procedure failed (RangeError: no such page), but the request still answered 207',
    );
    expect(finding?.place).to.match(/^test\/findings\/error-answered-2xx\.test\.ts:\d+$/);
    expect((await ask('/rpc/denied')).of('error-answered-2xx')).to.deep.equal([]);
  });

  it('ignores errors a handler caught, next("route") and errors answered with 500', async () => {
    for (const path of ['/caught', '/other', '/told'])
      expect((await ask(path)).of('error-answered-2xx'), path).to.deep.equal([]);
  });
});
