/** The door of two lines, and when a profiler is off. */
import { expect } from 'chai';
import express from 'express';
import { AsyncResource } from 'node:async_hooks';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, createServer as createHttp2Server } from 'node:http2';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import request from 'supertest';
import hindsight, { createProfiler, type Profiler, type ProfilerOptions } from '../../app/index.ts';
import type { Context } from '../../app/profiler/record/context.ts';
import { EXPRESS_VERSIONS } from '../support/express-versions.ts';

const TOKEN = /^[0-9a-f]{6}$/;

/** One whose routers nobody has observed; other tests go on with the copy that was loaded before. */
function freshCopyOfExpress4(): typeof express {
  const require = createRequire(import.meta.url);
  const { cache } = require;
  const loaded = Object.entries(cache).filter(([file]) => file.includes('node_modules/express-4/'));
  for (const [file] of loaded) Reflect.deleteProperty(cache, file);
  const copy = require('express-4') as typeof express;
  Object.assign(cache, Object.fromEntries(loaded));
  return copy;
}

describe('hindsight(app)', () => {
  const open: Profiler[] = [];
  const said: string[] = [];

  function attached(app: object, options: ProfilerOptions = {}): Profiler {
    const warn = (sentence: string): void => void (/^https?:/.test(sentence) || said.push(sentence));
    const profiler = hindsight(app, { warn, ...options });
    open.push(profiler);
    return profiler;
  }

  /** Runs `work` with other variables in the environment. */
  async function withEnvironment(
    values: Record<string, string>,
    work: () => Promise<void> | void,
  ): Promise<void> {
    const before = { ...process.env };
    Object.assign(process.env, values);
    try {
      await work();
    } finally {
      // Not replaced: a copy has no effect on the time zone.
      for (const name of Object.keys(values))
        if (before[name] === undefined) Reflect.deleteProperty(process.env, name);
        else process.env[name] = before[name];
    }
  }

  afterEach(async () => {
    for (const profiler of open.splice(0)) await profiler.close();
    said.length = 0;
  });

  it('knows where the first middleware of a copy of Express 4 was added that nobody has observed', async () => {
    const app = freshCopyOfExpress4()();
    const profiler = attached(app);
    app.use(function first(_request, _response, next) {
      next();
    });
    const { headers } = await request(app).get('/').expect(404);
    const found = await profiler.profiles.read(headers['x-debug-token']!);
    const { trace } = found?.profile?.panels.routing?.data as {
      trace: { label: string; source: string }[];
    };
    expect(trace.find(({ label }) => label === 'first')?.source).to.match(
      /^test\/doors\/hindsight\.test\.ts:\d+$/,
    );
  });

  for (const [name, make] of EXPRESS_VERSIONS) {
    it(`records ${name} behind one line, whatever was registered before it`, async () => {
      const app = make();
      app.get('/before', (_request, response) => void response.send('before'));
      const profiler = attached(app);
      app.get('/after', (_request, response) => void response.send('after'));
      for (const path of ['/before', '/after']) {
        const { headers } = await request(app).get(path).expect(200);
        expect(headers['x-debug-token']).to.match(TOKEN);
        const found = await profiler.profiles.read(headers['x-debug-token']!);
        expect(found?.profile).to.include({ route: path });
        await request(app).get(`/_profiler/${headers['x-debug-token']}`).expect(200, /<html/);
      }
    });

    it(`lets settings of ${name} be made after it`, async () => {
      const deprecated: unknown[] = [];
      const note = (warning: unknown): unknown => deprecated.push(warning);
      process.on('deprecation', note);
      const app = make();
      attached(app);
      app.set('case sensitive routing', true);
      app.set('strict routing', true);
      app.set('trust proxy', true);
      app.get('/Path', (req, response) => void response.send(req.ip));
      await request(app).get('/path').expect(404);
      await request(app).get('/Path/').expect(404);
      const { headers } = await request(app).get('/Path').set('x-forwarded-host', 'shop.example').expect(200);
      expect(headers['x-debug-token-link']).to.match(/^http:\/\/shop\.example(?::\d+)?\/_profiler\//);
      process.off('deprecation', note);
      expect(deprecated).to.deep.equal([]);
    });

    it(`gives ${name} its own answers back when it is closed`, async () => {
      const app = make();
      app.get('/', (_request, response) => void response.send('fine'));
      const { handle } = app as unknown as { handle: unknown };
      await attached(app).close();
      expect((app as unknown as { handle: unknown }).handle).to.equal(handle);
      const { headers } = await request(app).get('/').expect(200, 'fine');
      expect(headers).to.not.have.property('x-debug-token');
    });
  }

  it('records an application behind a server of its own, and one that is called by another framework', async () => {
    const app = express();
    attached(app);
    app.get('/inner', (_request, response) => void response.send('inner'));
    const server = createServer((req, res) => {
      if (req.url === '/outer') res.end('outer');
      else void app(req, res);
    });
    const { headers } = await request(server).get('/inner').expect(200, 'inner');
    expect(headers['x-debug-token']).to.match(TOKEN);
    expect((await request(server).get('/outer')).headers).to.not.have.property('x-debug-token');
  });

  it('prints as [Hindsight] in promises and timers that the application inspects', async () => {
    const app = express();
    let opened: Context | undefined;
    const profiler = attached(app, { onRequest: [(context) => void (opened = context)] });
    app.get('/', (_req, response) => {
      const options = { depth: null, showHidden: true };
      const shown = profiler.span('inspecting', () => [
        inspect(Promise.resolve(1), options),
        inspect(
          setImmediate(() => undefined),
          options,
        ),
        inspect(new AsyncResource('work'), options),
      ]);
      response.json({ shown, context: inspect(opened, options) });
    });
    const { text } = await request(app).get('/').set('cookie', 'sid=cookie-value-1234').expect(200);
    const { shown, context } = JSON.parse(text) as { shown: string[]; context: string };
    expect(context).to.equal('[Hindsight]');
    expect(shown.join('\n')).to.not.match(/cookie-value-1234|Context \{/);
  });

  it('leaves requests over HTTP/2 to an application that was patched for them', async () => {
    const app = express();
    const patched = (_request: unknown, response: { end: (body: string) => void }): void => {
      response.end('over HTTP/2');
    };
    Object.assign(app, { handle: patched });
    attached(app);
    const server = createHttp2Server(app as never).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const asked = client.request({ ':path': '/' }).setEncoding('utf8');
    const [headers] = (await once(asked, 'response')) as [Record<string, unknown>];
    const [body] = (await once(asked, 'data')) as [string];
    expect(body).to.equal('over HTTP/2');
    expect(headers[':status']).to.equal(200);
    expect(headers).to.not.have.property('x-debug-token');
    client.destroy();
    server.close();
  });

  it('records a mounted application once, by the outer profiler', async () => {
    const [outer, inner] = [express(), express()];
    inner.get('/page', (_request, response) => void response.send('page'));
    outer.use('/shop', inner);
    const profiler = attached(outer);
    attached(inner);
    const { headers } = await request(outer).get('/shop/page').expect(200);
    const found = await profiler.profiles.read(headers['x-debug-token']!);
    expect(found?.profile.route).to.equal('/shop/page');
    expect(said).to.have.lengthOf(1);
    expect(said[0]).to.include('another profiler');
  });

  it('is the same profiler when it is called again, and refuses other options', () => {
    const app = express();
    const profiler = attached(app);
    expect(hindsight(app)).to.equal(profiler);
    expect(() => hindsight(app, { explainMs: 5 })).to.throw('already has a profiler');
  });

  it('leaves a request to the profiler that recorded it first, and says so once', async () => {
    const first = createProfiler({ warn: () => undefined });
    const second = createProfiler({ warn: (sentence) => said.push(sentence) });
    open.push(first, second);
    const app = express();
    app.use(first.watch, second.watch, second.pages, first.pages);
    const { headers } = await request(app).get('/');
    await request(app).get('/');
    expect(await first.profiles.read(headers['x-debug-token']!)).to.not.equal(null);
    expect(said).to.have.lengthOf(1);
  });

  it('says where its pages are once its server listens, and then who can read them', async () => {
    const app = express();
    attached(app, { warn: (sentence) => said.push(sentence) });
    for (const _server of ['the first', 'another']) {
      const server = createServer(app).listen(0, '0.0.0.0');
      await once(server, 'listening');
      server.close();
    }
    expect(said).to.have.lengthOf(2);
    expect(said[0]).to.match(/^http:\/\/localhost:\d+\/_profiler\/$/);
    expect(said[1]).to.match(/^Anyone who can reach 0\.0\.0\.0:\d+ can read every recorded request; /);
  });

  it('says once that other machines reach it, unless it has a guard or only this machine does', async () => {
    async function ask(app: express.Express, address: string): Promise<void> {
      const server = app.listen(0, address);
      await once(server, 'listening');
      for (const path of ['/', '/again']) await request(server).get(path);
      server.close();
    }
    const profiler = createProfiler({ warn: (sentence) => said.push(sentence) });
    open.push(profiler);
    const mounted = express();
    mounted.use(profiler.watch);
    await ask(mounted, '0.0.0.0');
    for (const [options, address] of [
      [{}, '0.0.0.0'],
      [{}, '127.0.0.1'],
      [{ password: 'open sesame' }, '0.0.0.0'],
      [{ authorize: () => false }, '0.0.0.0'],
    ] as const) {
      const app = express();
      attached(app, options);
      await ask(app, address);
    }
    expect(said, 'createProfiler, and hindsight without a guard').to.have.lengthOf(2);
    for (const sentence of said)
      expect(sentence).to.match(
        /^Anyone who can reach 0\.0\.0\.0:\d+ can read every recorded request; set PROFILER_PASSWORD/,
      );
  });

  it('writes what a request made it throw without control characters, and with no line of its own', async () => {
    const app = express();
    const profiler = attached(app);
    app.get('/', () => {
      throw new Error('\x1b[31mred\nFAKE line\r\x9b31m');
    });
    app.use(profiler.errors);
    await request(app).get('/').expect(500);
    expect(said).to.have.lengthOf(1);
    expect(said[0]).to.match(/^Error: \\x1b\[31mred\n {4}FAKE line\\x0d\\x9b31m\n {4}at /);
  });

  it('refuses what is no application', () => {
    expect(() => hindsight(createServer())).to.throw('the first argument is not an Express application');
  });

  it('answers what no route answered with a 404 page, where that is asked for', async () => {
    const app = express();
    const profiler = attached(app);
    app.all('/{*path}', (_request, _response, next) => next());
    app.get('/orders', (_request, response) => void response.send('orders'));
    app.use(profiler.notFound);
    const { text } = await request(app).get('/order').expect(404);
    expect(text).to.include('No route found for').and.include('/orders');
  });

  it('reads what it is not told from the environment', () =>
    withEnvironment({ PROFILER_PASSWORD: 'open sesame' }, async () => {
      const app = express();
      attached(app);
      await request(app).get('/_profiler/').expect(401);
      await request(app).get('/_profiler/').auth('any', 'open sesame').expect(200);
      const other = express();
      attached(other, { password: null });
      await request(other).get('/_profiler/').expect(200);
      const mounted = createProfiler();
      const third = express().use(mounted.watch, mounted.pages);
      await request(third).get('/_profiler/').expect(401);
      await mounted.close();
    }));

  describe('in production', () => {
    async function expectOff(app: express.Express): Promise<void> {
      const { headers } = await request(app).get('/').expect(200, 'fine');
      expect(headers).to.not.have.property('x-debug-token');
      await request(app).get('/_profiler/').expect(404);
    }

    function application(): express.Express {
      const app = express();
      app.get('/', (_request, response) => void response.send('fine'));
      return app;
    }

    it('is off, and says so once', () =>
      withEnvironment({ NODE_ENV: 'production' }, async () => {
        const app = application();
        const { handle } = app as unknown as { handle: unknown };
        const profiler = attached(app);
        expect(profiler.isOn).to.equal(false);
        expect((app as unknown as { handle: unknown }).handle).to.equal(handle);
        app.use(profiler.watch, profiler.pages, profiler.notFound, profiler.errors);
        expect(profiler.dump(7)).to.equal(7);
        await expectOff(app);
        expect(said).to.have.lengthOf(1);
        expect(said[0]).to.include('NODE_ENV').and.include('PROFILER=on');
      }));

    it('is on where PROFILER or the option says so, and off elsewhere where they say that', async () => {
      await withEnvironment({ NODE_ENV: 'production', PROFILER: 'on' }, () => {
        expect(attached(application()).isOn).to.equal(true);
        expect(attached(application(), { enabled: false }).isOn).to.equal(false);
      });
      await withEnvironment({ NODE_ENV: 'production' }, () => {
        expect(attached(application(), { enabled: true }).isOn).to.equal(true);
      });
      await withEnvironment({ PROFILER: 'off' }, async () => {
        const app = application();
        expect(attached(app).isOn).to.equal(false);
        await expectOff(app);
      });
      expect(said).to.deep.equal([]);
    });

    it('is not ended by a wrong setting, which turns the profiler off elsewhere', async () => {
      const wrong = { PROFILER_EXPLAIN_MS: 'soon' };
      await withEnvironment({ ...wrong, NODE_ENV: 'production' }, async () => {
        const app = application();
        expect(attached(app).isOn).to.equal(false);
        await expectOff(app);
      });
      said.length = 0;
      await withEnvironment(wrong, async () => {
        const app = application();
        expect(attached(app).isOn).to.equal(false);
        await expectOff(app);
      });
      expect(said).to.have.lengthOf(1);
      expect(said[0]).to.match(/^PROFILER_EXPLAIN_MS is "soon"; [^\n]+ Nothing is recorded\.$/);
    });
  });
});

describe('createProfiler', () => {
  it('names the nearest option where it does not know one', async () => {
    const said: string[] = [];
    const options = { sampling: { rate: 0.1 }, retention: 4, passwort: 'x', toolbr: true, quux: 1 };
    await createProfiler({ ...options, warn: (sentence) => said.push(sentence) }).close();
    expect(said).to.deep.equal([
      'unknown option "sampling"; did you mean sampleRate?',
      'unknown option "retention"; did you mean retentionHours, retentionCount, retentionMb?',
      'unknown option "passwort"; did you mean password?',
      'unknown option "toolbr"; did you mean toolbar, toolbarOrigins?',
      'unknown option "quux"; it has no effect.',
    ]);
  });
});
