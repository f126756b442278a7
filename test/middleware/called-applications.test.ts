/**
 * An application that another one calls instead of mounting it (vhost): Express gives the response the prototype of that application,
 * which may have methods of its own.
 */
import { expect } from 'chai';
import { createRequire } from 'node:module';
import type express from 'express';
import { createProfiler, type Json, type ProfilerOptions } from '../../app/index.ts';
import { close, listen } from '../support/listen.ts';
import { EXPRESS_VERSIONS } from '../support/express-versions.ts';
import { steadyIn } from '../support/steady-findings.ts';

const load = createRequire(import.meta.url);
const compression = load('compression') as (options: { threshold: number }) => express.Handler;

interface Recorded {
  status: number | null;
  panels: { request: { data: { response: Record<string, Json> } }; routing: { data: Json } };
}

/** Asks a host which calls `inner` for `/` two times, and gives what was recorded. */
async function recorded(
  make: typeof express,
  inner: express.Express,
  { before = [], options = {} }: { before?: express.Handler[]; options?: ProfilerOptions } = {},
): Promise<Recorded[]> {
  const profiler = createProfiler({ toolbar: false, ...options });
  const app = make();
  app.use(profiler.watch, profiler.pages, ...before);
  app.get('/', function calls(req, res, next) {
    inner(req, res, next);
  });
  app.get('/own', (_req, res) => void res.send('own'));
  const { server, origin } = await listen(app);
  const profiles: Recorded[] = [];
  for (const path of ['/', '/own', '/']) {
    const answer = await fetch(origin + path);
    await answer.text();
    const read = await profiler.profiles.read(answer.headers.get('x-debug-token') ?? '');
    if (path === '/') profiles.push(read?.profile as unknown as Recorded);
  }
  await close(server, profiler);
  return profiles;
}

const responseOf = ({ panels }: Recorded): Record<string, Json> => panels.request.data.response;

for (const [name, make] of EXPRESS_VERSIONS)
  describe(`an application of ${name} that is called by another`, () => {
    it('is recorded from its first answer on', async () => {
      const inner = make();
      inner.get('/', function answers(_req, res) {
        res.status(201).set('x-mine', '1').send('inner');
      });
      for (const profile of await recorded(make, inner)) {
        expect(profile.status).to.equal(201);
        expect(responseOf(profile)).to.include({ status: 201, bytes: 5, text: 'inner', outcome: 'finished' });
        expect(JSON.stringify(responseOf(profile).headers)).to.include('x-mine');
        expect(JSON.stringify(profile.panels.routing.data)).to.include('set 4 headers, responded');
      }
    });

    it('is recorded where the response was wrapped before', async () => {
      const inner = make();
      inner.get('/', (_req, res) => void res.send('inner'.repeat(1000)));
      const before = [compression({ threshold: 0 })];
      for (const profile of await recorded(make, inner, { before })) {
        expect(profile.status).to.equal(200);
        expect(JSON.stringify(responseOf(profile).headers)).to.include('gzip');
        expect(responseOf(profile).bytes).to.be.within(20, 500);
      }
    });

    it('responds by methods of its own', async () => {
      const inner = make();
      inner.response.end = function end(this: express.Response, ...args: unknown[]) {
        this.setHeader('x-inner', '1');
        return Reflect.apply(make.response.end, this, args) as express.Response;
      } as typeof inner.response.end;
      inner.get('/', (_req, res) => void res.send('inner'));
      for (const profile of await recorded(make, inner)) {
        expect(responseOf(profile)).to.include({ text: 'inner', bytes: 5 });
        expect(JSON.stringify(responseOf(profile).headers)).to.include('x-inner');
      }
    });

    it('is recorded as a summary where the sample rate leaves it out', async () => {
      const inner = make();
      inner.get('/', (_req, res) => void res.status(503).send('inner'));
      const profiles = await recorded(make, inner, { options: { sampleRate: 0 } });
      expect(profiles.map(({ status }) => status)).to.deep.equal([503, 503]);
    });

    it('does not respond where it passes the request on to what called it', async () => {
      const profiler = createProfiler({ toolbar: false });
      const app = make();
      app.use(profiler.watch, profiler.pages);
      app.use(function passes(_req, _res, next) {
        next();
      });
      // As Fastify does with @fastify/express.
      const { server, origin } = await listen((req, res) => {
        app(req as express.Request, res as express.Response, () => {
          res.writeHead(500).end('around');
        });
      });
      // Express 4 is observed as a whole from its second request on.
      await (await fetch(origin)).text();
      const answer = await fetch(origin);
      await answer.text();
      const read = await profiler.profiles.read(answer.headers.get('x-debug-token') ?? '');
      await close(server, profiler);
      expect(JSON.stringify(read?.profile.panels.routing?.data)).not.to.include('responded');
      expect(steadyIn(read!.profile).map(({ sentence }) => sentence)).to.deep.equal([
        'code outside any middleware responded 500, and nothing was thrown or passed to next()',
      ]);
    });
  });
