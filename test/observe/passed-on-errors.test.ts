/** Errors that the application's own error handler answers, with Express 4 and 5. */
import { expect } from 'chai';
import type express from 'express';
import type { NextFunction, Request, Response } from 'express';
import { createProfiler, type Profiler } from '../../app/index.ts';
import { finalProfile } from '../support/final-profile.ts';
import { close, listen } from '../support/listen.ts';
import { withQuietConsole } from '../support/quiet-console.ts';
import { EXPRESS_VERSIONS } from '../support/express-versions.ts';
import { steadyIn } from '../support/steady-findings.ts';

interface Thrown {
  origin: string;
  status: number | null;
  from?: { name: string; place: string | null };
  handler?: { name: string };
  place: { frame: { file: string; function: string | null } } | null;
  thrown: { chain: { class: string; message: string }[] };
}

interface Seen {
  status: number;
  errors: Thrown[];
  error: { name: string; message: string } | null;
  tone: string | null;
  findings: string[];
  happened: string[];
}

class HttpError extends Error {
  readonly status: number;
  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

function respond(error: unknown, _req: Request, res: Response, _next: NextFunction): void {
  const { status = 500, message = '' } = error as { status?: number; message?: string };
  res.status(status).json({ error: message });
}

async function see(
  make: typeof express,
  build: (app: express.Express, profiler: Profiler) => void,
  path = '/',
): Promise<Seen> {
  const profiler = createProfiler({ toolbar: false, warn: () => undefined });
  profiler.observe('express', make);
  const app = make();
  app.use(profiler.watch, profiler.pages);
  build(app, profiler);
  const { server, origin } = await listen(app);
  const response = await fetch(`${origin}${path}`);
  const profile = await finalProfile(profiler, response);
  await close(server, profiler);
  const { data, summary } = profile.panels.exception as unknown as {
    data: { errors: Thrown[] } | null;
    summary: { tone: string } | null;
  };
  const routing = profile.panels.routing as unknown as { data: { trace: { happened: string }[] } };
  return {
    status: response.status,
    errors: data?.errors ?? [],
    error: profile.error,
    tone: summary?.tone ?? null,
    findings: steadyIn(profile).map(({ label }) => label),
    happened: routing.data.trace.map(({ happened }) => happened),
  };
}

for (const [name, make] of EXPRESS_VERSIONS)
  describe(`an error that an application of ${name} answers itself`, () => {
    withQuietConsole();

    it('is an exception of the profile, with its causes, where it came from and who handled it', async () => {
      const seen = await see(make, (app) => {
        const cause = new TypeError('no rate');
        app.get('/', function checkout() {
          throw new Error('lost in the host', { cause });
        });
        app.use(respond);
      });
      expect(seen.errors).to.have.length(1);
      const [one] = seen.errors;
      expect(one).to.include({ origin: 'passed on', status: 500 });
      expect(one?.from?.name).to.equal('GET / checkout');
      expect(one?.from?.place).to.match(/^test\/observe\/passed-on-errors\.test\.ts:\d+$/);
      expect(one?.handler?.name).to.equal('respond');
      expect(one?.place?.frame.file).to.equal('test/observe/passed-on-errors.test.ts');
      expect(one?.thrown.chain.map(({ message }) => message)).to.deep.equal(['lost in the host', 'no rate']);
      expect(seen.error?.message).to.equal('lost in the host');
      expect(seen.tone).to.equal('bad');
      expect(seen.findings).to.include('root cause');
    });

    for (const [how, fail] of [
      ['is passed to next', (_req, _res, next) => next(new Error('no'))],
      ['is passed to next later', (_req, _res, next) => void setImmediate(() => next(new Error('no')))],
    ] as [string, express.RequestHandler][])
      it(`${how}, with and without a layer behind it`, async () => {
        for (const behind of [[respond], []]) {
          const seen = await see(make, (app) => app.get('/', fail, ...(behind as [])));
          expect(seen.errors.map(({ origin, status }) => [origin, status])).to.deep.equal([
            ['passed on', 500],
          ]);
          expect(seen.errors[0]?.handler?.name).to.equal(behind.length === 0 ? undefined : 'respond');
          expect(seen.findings).to.include('exception');
        }
      });

    it('is what was thrown, also if it is falsy and Express goes on', async () => {
      const { status, errors, error } = await see(make, (app) => {
        app.get('/', function thrower() {
          throw undefined;
        });
      });
      expect([status, error]).to.deep.equal([404, { name: 'undefined', message: 'undefined' }]);
      expect(errors.map(({ from }) => from?.name)).to.deep.equal(['GET / thrower']);
      const caught = await see(make, (app) => {
        app.get('/', (_req, res) => {
          try {
            throw undefined;
          } catch {
            res.send('caught');
          }
        });
      });
      expect([caught.status, caught.errors]).to.deep.equal([200, []]);
    });

    it('is not blamed on a handler that a middleware stopped waiting for', async () => {
      const seen = await see(make, (app) => {
        app.use((_req, _res, next) => {
          const error = Object.assign(new HttpError(503, 'Response timeout'), {
            code: 'ETIMEDOUT',
            timeout: 5,
          });
          setTimeout(() => next(error), 5);
          next();
        });
        app.get('/', function slow() {
          // Still at work.
        });
        app.use(respond);
      });
      const [one] = seen.errors;
      expect(one).to.include({ status: 503 }).and.not.have.property('from');
      expect(seen.happened.join()).to.not.contain('threw');
    });

    it('names the middleware that passed on a string, which has no stack', async () => {
      const seen = await see(make, (app, profiler) => {
        app.use('/guarded', function checkTenant(_req, _res, next) {
          next('no tenant');
        });
        app.use(profiler.errors);
      }, '/guarded'); // prettier-ignore
      expect(seen.errors.map(({ from }) => from?.name)).to.deep.equal(['checkTenant /guarded']);
      expect(seen.errors[0]?.from?.place).to.match(/passed-on-errors\.test\.ts:\d+$/);
    });

    it('is told once where it reaches the profiler’s error page, wraps another, or is logged', async () => {
      const seen = await see(make, (app, profiler) => {
        app.get('/', () => {
          throw new Error('first');
        });
        app.use((error: Error, _req: Request, _res: Response, next: NextFunction) => {
          console.error('it failed', error);
          next(new HttpError(503, 'second', { cause: error }));
        });
        app.use(profiler.errors);
      });
      expect(seen.errors.map(({ origin, status }) => [origin, status])).to.deep.equal([['handled', 503]]);
      expect(seen.errors[0]?.thrown.chain.map(({ message }) => message)).to.deep.equal(['second', 'first']);
      expect(seen.errors[0]?.from?.name).to.equal('GET /');
    });

    it('is no alarm where the response is a 4xx', async () => {
      const seen = await see(make, (app) => {
        app.get('/', (_req, _res, next) => next(new HttpError(404, 'no such order')));
        app.use(respond);
      });
      expect(seen).to.include({ status: 404, tone: 'plain' });
      expect(seen.error?.message).to.equal('no such order');
      expect(seen.errors[0]).to.include({ origin: 'passed on', status: 404 });
      expect(seen.findings).to.deep.equal([]);
    });

    it('is none where the value passed to next is no error', async () => {
      const seen = await see(make, (app) => {
        app.get('/', (_req, _res, next) => next({ ok: true }));
        app.use(function final(body: unknown, _req: Request, res: Response, _next: NextFunction) {
          res.status(200).json(body);
        });
      });
      expect(seen).to.include({ status: 200, tone: null, error: null });
      expect(seen.errors).to.deep.equal([]);
      expect(seen.findings).to.deep.equal([]);
      expect(seen.happened.filter((text) => text.includes('threw'))).to.deep.equal([]);
    });

    it('is shown as logged where it was only that', async () => {
      const seen = await see(make, (app) => {
        app.get('/', (_req, res) => {
          console.error(new Error('caught'));
          res.end('fine');
        });
      });
      expect(seen.errors.map(({ origin, status }) => [origin, status])).to.deep.equal([['logged', null]]);
      expect(seen).to.include({ error: null, tone: 'warn' });
      expect(seen.findings).to.deep.equal(['logged error']);
    });
  });
