import { expect } from 'chai';
import type { NextFunction, Request, Response } from 'express';
import { withFindingsApp } from '../support/findings-app.ts';
import { withUpstream } from '../support/upstream.ts';

/** What `connect-timeout` does. */
function timeout(req: Request & { timedout?: boolean }, res: Response, next: NextFunction): void {
  req.timedout = false;
  const timer = setTimeout(() => {
    req.timedout = true;
    const error = Object.assign(new Error('Response timeout'), {
      code: 'ETIMEDOUT',
      status: 503,
      timeout: 40,
    });
    error.stack = 'Error: Response timeout\n    at /app/node_modules/connect-timeout/index.js:84:8';
    next(error);
  }, 40);
  res.once('finish', () => {
    clearTimeout(timer);
  });
  next();
}

describe('finding timed-out', () => {
  const upstream = withUpstream((_req, res) => void setTimeout(() => res.end('{}'), 120));
  const ask = withFindingsApp((app) => {
    app.use(timeout);
    app.get('/called', async (_req, res) => {
      const text = await (await fetch(`${upstream()}/slow`)).text();
      if (!res.headersSent) res.send(text);
    });
    app.get('/stuck', function stuck() {
      // Never responds.
    });
    app.get('/broken', () => {
      throw new Error('no rate');
    });
  });

  it('names the middleware, its limit, and the work that had not ended', async () => {
    const { status, of } = await ask('/called');
    const [found] = of('timed-out');
    expect(status).to.equal(503);
    expect(found?.sentence).to.match(
      /^connect-timeout \(test\/findings\/timed-out\.test\.ts:\d+\) gave up after \S+ ms: GET 127\.0\.0\.1:\d+\/slow had not responded for \S+ ms$/,
    );
    expect(found?.place).to.match(/timed-out\.test\.ts:30$/);
    expect(of('error-thrown')).to.deep.equal([]);
  });

  it('names the handler if no work is known', async () => {
    const [found] = (await ask('/stuck')).of('timed-out');
    expect(found?.sentence).to.match(/gave up after \S+ ms: stuck had not responded$/);
    expect(found?.place).to.match(/timed-out\.test\.ts:33$/);
  });

  it('is about no other error', async () => {
    const { of } = await ask('/broken');
    expect(of('timed-out')).to.deep.equal([]);
    expect(of('error-thrown')).to.have.lengthOf(1);
  });
});
