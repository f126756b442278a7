import { expect } from 'chai';
import express, { type ErrorRequestHandler, type Response } from 'express';
import type { ExceptionData } from '../../app/panels/exception/data.ts';
import { setImmediate } from 'node:timers/promises';
import { inLibrary } from '../support/in-library.ts';
import { withFindingsApp } from '../support/findings-app.ts';
import { withQuietConsole } from '../support/quiet-console.ts';

function respondUnavailable(res: Response, status = 503): void {
  res.status(status).json({ problem: 'Try again.' });
}

function priceOf(): number {
  return (undefined as unknown as { price: number }).price;
}

describe('finding failure-sent', () => {
  withQuietConsole();
  const ask = withFindingsApp((app) => {
    app.get('/dropped', (_req, res) => {
      try {
        throw new RangeError('out of stock');
      } catch {
        res.status(500).json({ problem: 'Try again.' });
      }
    });
    app.get('/in-service', async (_req, res) => {
      await setImmediate();
      respondUnavailable(res);
    });
    app.use('/framework', (req, res) => {
      // As a framework does that responds to what its procedures throw.
      void Promise.resolve()
        .then(priceOf)
        .catch((error: unknown) => {
          const { stack = '' } = error as Error;
          setTimeout(() => {
            if (req.path === '/json') res.status(500).json({ error: { data: { stack } } });
            else res.status(500).send(`<pre>${stack.replaceAll('\n', '<br>')}</pre>`);
          });
        });
    });
    app.get('/logged', (_req, res) => {
      console.error('the warehouse does not respond');
      res.status(503).end();
    });
    app.get('/error-logged', (_req, res) => {
      try {
        throw new RangeError('out of stock');
      } catch (error) {
        console.error(error);
        res.status(500).end();
      }
    });
    app.get('/thrown', () => {
      throw new Error('it broke');
    });
    app.get('/passed', (_req, _res, next) => {
      next(Object.assign(new Error('not now'), { status: 503 }));
    });
    app.get(
      '/result',
      function loadUser(_req, _res, next) {
        void Promise.resolve({ name: 'Ann' }).then(next);
      },
      (_req, res) => res.send('x'),
    );
    app.get('/text', (_req, _res, next) => {
      next('out of stock');
    });
    app.get('/signal', (_req, _res, next) => {
      next('route');
    });
    app.get('/refused', (_req, res) => {
      console.error('no such order');
      res.status(404).end();
    });
    app.get('/unavailable', (_req, res) => res.type('html').send('<h1>Maintenance</h1>'));
    app.get(
      '/gateway',
      (req, res, next) => {
        res.locals.load = async () => {
          const response = await fetch(`http://${req.headers.host ?? ''}/unavailable`);
          await response.text();
        };
        next();
      },
      inLibrary(`async (_req, res) => {
        await res.locals.load();
        setImmediate(() => res.status(502).json({ problem: 'no price' }));
      }`),
    );
    app.get('/logged-as-text', (_req, res) => {
      const { stack = '' } = new RangeError('out of stock');
      console.error(`GET /logged-as-text failed with status 500. ${stack}`);
      res.status(500).end();
    });
    app.use('/result', ((_error, _req, res, _next) => {
      res.status(500).end();
    }) satisfies ErrorRequestHandler);
    const inner = express();
    inner.use(function passes(_req, _res, next) {
      next();
    });
    app.use('/around', function around(req, res) {
      inner(req, res, () => {
        res.status(500).end();
      });
    });
    app.get('/guarded', (_req, res) => {
      respondUnavailable(res, 401);
    });
    app.get(
      '/guarded/library',
      (_req, _res, next) => {
        next();
      },
      inLibrary('(_req, res) => res.status(403).end()'),
    );
  });

  it('knows the line that refused, not the one that mounts it, and none of a library', async () => {
    const from = async (path: string) =>
      ((await ask(path)).profile.panels.request?.data as { response: { sentFrom?: string } }).response
        .sentFrom;
    expect(await from('/guarded')).to.equal('test/findings/failure-sent.test.ts:10');
    expect(await from('/guarded/library')).to.equal(undefined);
  });

  it('names what called an application that passed the request on', async () => {
    const [finding] = (await ask('/around')).of('failure-sent');
    expect(finding?.sentence).to.match(/^around responded 500, /);
  });

  it('names the handler that sent a 5xx, and where', async () => {
    const [finding] = (await ask('/dropped')).of('failure-sent');
    expect(finding).to.include({ label: '5xx sent', severity: 'bad', broke: 'response', panel: 'routing' });
    expect(finding?.sentence).to.equal(
      'GET /dropped responded 500, and nothing was thrown or passed to next()',
    );
    expect(finding?.place).to.match(/^test\/findings\/failure-sent\.test\.ts:24$/);
  });

  it('leaves a value that was passed to next() to error-thrown, which says who passed what', async () => {
    const { of, findings } = await ask('/result');
    expect(of('failure-sent')).to.deep.equal([]);
    const finding = findings.find(({ rule }) => rule === 'error-thrown');
    expect(finding?.sentence).to.equal(
      'GET /result loadUser threw or passed to next() a value that is not an Error (Object): {"name":"Ann"}',
    );
    expect(finding?.place).to.match(/failure-sent\.test\.ts:\d+$/);
    const [text] = (await ask('/text')).of('error-thrown');
    expect(text?.sentence).to.equal(
      'GET /text threw or passed to next() a value that is not an Error (string): out of stock',
    );
    expect((await ask('/signal')).of('error-thrown')).to.deep.equal([]);
  });

  it('names the line that sent it', async () => {
    const [finding] = (await ask('/in-service')).of('failure-sent');
    expect(finding?.sentence).to.match(/^GET \/in-service responded 503, and nothing was thrown/);
    expect(finding?.place).to.equal('test/findings/failure-sent.test.ts:10');
  });

  for (const path of ['/framework/json', '/framework/page'])
    it(`names the line of the error whose stack is in the response: ${path}`, async () => {
      const { of, findings, profile } = await ask(path);
      const [finding] = of('failure-sent');
      expect(finding?.sentence).to.match(
        / responded 500, likely because of TypeError: Cannot read properties of undefined \(reading 'price'\), and nothing/,
      );
      expect(finding?.place).to.equal('test/findings/failure-sent.test.ts:14');
      expect(findings.map(({ rule }) => rule)).to.deep.equal(['failure-sent']);
      const { errors } = profile.panels.exception?.data as ExceptionData;
      expect(errors.map(({ origin }) => origin)).to.deep.equal(['sent']);
    });

  it('names the last call before it if a library responds', async () => {
    const [finding] = (await ask('/gateway')).of('failure-sent');
    expect(finding?.sentence).to.match(
      /responded 502, after GET 127\.0\.0\.1:\d+\/unavailable \(200, text\/html; charset=utf-8\), and nothing was thrown/,
    );
    expect(finding?.place).to.match(/^test\/findings\/failure-sent\.test\.ts:\d+$/);
  });

  it('quotes what was logged, and names the line of it', async () => {
    const [finding] = (await ask('/logged')).of('failure-sent');
    expect(finding?.sentence).to.match(/ responded 503, .+; logged before: the warehouse does not respond$/);
    expect(finding?.place).to.match(/failure-sent\.test\.ts:44$/);
  });

  it('names where the error was thrown that was only logged', async () => {
    const [finding] = (await ask('/error-logged')).of('failure-sent');
    expect(finding?.sentence).to.contain('logged before: RangeError: out of stock');
    expect(finding?.place).to.match(/failure-sent\.test\.ts:49$/);
  });

  it('names an error once that was logged as text, behind other words', async () => {
    const [finding] = (await ask('/logged-as-text')).of('failure-sent');
    expect(finding?.sentence).to.equal(
      'GET /logged-as-text responded 500, likely because of RangeError: out of stock, and nothing was thrown or passed to next()',
    );
    expect(finding?.place).to.match(/^test\/findings\/failure-sent\.test\.ts:\d+$/);
  });

  it('leaves errors that reached the error handler, and other statuses, alone', async () => {
    for (const path of ['/thrown', '/passed', '/refused', '/text'])
      expect((await ask(path)).of('failure-sent'), path).to.deep.equal([]);
  });
});
