import { expect } from 'chai';
import { load } from 'cheerio';
import express, { type RequestHandler, type Response } from 'express';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createResponseWatch } from '../../app/middleware/watched-response.ts';
import { authorsText, headerAuthors } from '../../app/panels/shared/header-authors.ts';
import type { RequestPanelData } from '../../app/panels/request/data.ts';
import { urls } from '../../app/urls.ts';
import { startFindingsApp, withFindingsApp } from '../support/findings-app.ts';
import { cpuMsOf } from '../support/waiting.ts';
import { Context, ContextTracker } from '../../app/profiler/record/context.ts';

/** As `on-headers` does it: what it is given runs when the headers go out. */
function onHeaders(res: ServerResponse, listen: () => void): void {
  const { writeHead } = res;
  res.writeHead = function (this: ServerResponse, ...args: unknown[]) {
    const [status, headers] = args;
    for (const [name, value] of Object.entries((headers ?? {}) as Record<string, string>))
      this.setHeader(name, value);
    listen();
    return Reflect.apply(writeHead, this, [status]) as ServerResponse;
  };
}

const policies: RequestHandler = (_req, res, next) => {
  res.setHeader('X-Frame-Options', 'DENY');
  res.setHeader('Referrer-Policy', 'no-referrer');
  res.setHeader('X-Gone', '1');
  const { json } = res;
  res.json = function (this: Response, body) {
    return Reflect.apply(json, this, [body]) as Response;
  };
  next();
  res.locals.late = true;
};
const session: RequestHandler = (_req, res, next) => {
  onHeaders(res, () => {
    res.setHeader('X-Session', '1');
  });
  next();
};
const timing: RequestHandler = (_req, res, next) => {
  onHeaders(res, () => res.setHeader('X-Time', '1'));
  next();
};
const cacheForAll = (res: Response): unknown => res.set('Cache-Control', 'public, max-age=60');
const later: RequestHandler = (_req, _res, next) => setImmediate(next);

/** The source of `file:line`. */
function lineIn(place: string | null | undefined): string {
  const [file = '', line = ''] = (place ?? '').split(':');
  return readFileSync(file, 'utf8').split('\n')[Number(line) - 1] ?? '';
}

describe('the layer that sets each header', () => {
  const ask = withFindingsApp((app) => {
    app.disable('x-powered-by');
    app.use(policies, session, later);
    app.set('views', import.meta.dirname);
    app.engine('ts', (_file: string, _options: object, done: (error: null, page: string) => void) => {
      done(null, '<p>Nora</p>');
    });
    app.get('/order', function showOrder(_req, res) {
      res.setHeader('x-frame-options', 'SAMEORIGIN');
      res.removeHeader('X-Gone');
      res.removeHeader('X-Never');
      res.vary('Accept').vary('Cookie');
      res.cookie('a', '1').cookie('b', '2').json({});
    });
    app.get('/async', async function waits(_req, res) {
      await new Promise((done) => setTimeout(done, 2));
      res.setHeader('X-Late', '1');
      res.end();
    });
    app.get('/two', timing, function writes(_req, res) {
      res.writeHead(200, { 'X-Handed': '1' }).end('x');
    });
    app.get(
      '/back',
      function outer(_req, res, next) {
        next();
        res.setHeader('X-After', '1');
        res.end();
      },
      function inner() {
        // Leaves the answer to the one before it.
      },
    );
    app.get('/lines', session, function lines(_req, res) {
      cacheForAll(res);
      res.cookie('a', '1');
      res.json({});
    });
    app.get('/plain', (_req, res) => {
      res.writeHead(200, { 'Content-Type': 'text/plain' });
      res.end('plain');
    });
    app.get('/page', (_req, res) => {
      res.render('header-writes.test.ts');
    });
    app.get('/twice', function twice(_req, res) {
      res.on('error', () => undefined).send('one');
      try {
        res.send('two');
      } catch {
        res.end('three');
      }
    });
  });

  async function authorsOf(path: string): Promise<Record<string, string | string[]>> {
    const { profile } = await ask(path);
    const { response } = profile.panels.request?.data as RequestPanelData;
    const found: Record<string, string | string[]> = {};
    response?.headers.forEach(({ name }, index) => {
      const text = authorsText(response.authors?.sent[index] ?? []);
      const known = found[name];
      found[name] = known === undefined ? text : [known, text].flat();
    });
    for (const { name, steps } of response?.authors?.removed ?? []) found[name] = authorsText(steps);
    return found;
  }

  it('is told, with who overwrote it, added to it or took it away', async () => {
    expect(await authorsOf('/order')).to.deep.equal({
      'x-debug-token': 'Hindsight',
      'x-debug-token-link': 'Hindsight',
      'x-frame-options': 'policies, changed by showOrder',
      'Referrer-Policy': 'policies',
      'X-Gone': 'policies, removed by showOrder',
      Vary: 'showOrder',
      'Set-Cookie': ['showOrder', 'showOrder'],
      'Content-Type': 'showOrder',
      'Content-Length': 'showOrder',
      ETag: 'showOrder',
      'X-Session': 'session, when the headers were sent',
      Date: 'Node',
      Connection: 'Node',
      'Keep-Alive': 'Node',
    });
  });

  it('is said with the line, for headers that decide about caches and cookies', async () => {
    const { profile } = await ask('/lines');
    const { headers = [], authors } = (profile.panels.request?.data as RequestPanelData).response ?? {};
    const lineOf = (name: string): string =>
      lineIn(authors?.sent[headers.findIndex((header) => header.name === name)]?.at(-1)?.place);
    expect(lineOf('Cache-Control')).to.contain("res.set('Cache-Control'");
    expect(lineOf('Set-Cookie')).to.contain("res.cookie('a', '1')");
    expect(lineOf('Content-Type')).to.contain("app.get('/lines'");
  });

  it('stands on the first screen with the line that sent the response, and what ran before the handler', async () => {
    const { profile } = await ask('/lines');
    const screen = load(await ask.page(urls.profile(profile.token, 'overview')));
    expect(screen('#received').text())
      .to.contain('policies (res.locals.late) → session → later → session')
      .and.contain('no cookie, no authorization');
    for (const [path, source] of [
      ['/lines', 'res.json({})'],
      ['/plain', 'res.writeHead(200'],
      ['/page', 'res.render('],
    ] as const) {
      const { token } = (await ask(path)).profile;
      const sent = load(await ask.page(urls.profile(token, 'overview')))('#sent').text();
      const place = /header-writes\.test\.ts:\d+/.exec(sent)?.[0];
      expect(lineIn(`test/middleware/${place}`)).to.contain(source);
    }
  });

  it('is the one that waited, where a handler goes on later', async () => {
    expect((await authorsOf('/async'))['X-Late']).to.equal('waits');
  });

  it('is the one that runs, where it goes on after those behind it', async () => {
    expect((await authorsOf('/back'))['X-After']).to.equal('outer');
  });

  it('is the one that waits, where several wait for the headers to go out', async () => {
    const found = await authorsOf('/two');
    expect(found['X-Time']).to.equal('timing, when the headers were sent');
    expect(found['X-Session']).to.equal('session, when the headers were sent');
    expect(found['X-Handed']).to.equal('writes');
  });

  it('is Express where nothing answered', async () => {
    const plain = await startFindingsApp((app) => {
      app.use(policies);
    });
    const { profile, status } = await plain.ask('/nowhere');
    await plain.close();
    const { response } = profile.panels.request?.data as RequestPanelData;
    const by = Object.fromEntries(
      (response?.headers ?? []).map(({ name }, index) => [
        name,
        authorsText(response?.authors?.sent[index] ?? []),
      ]),
    );
    expect(status).to.equal(404);
    expect(by).to.include({
      'Referrer-Policy': 'policies',
      'Content-Security-Policy': 'Express, because nothing responded',
      'Content-Type': 'Express, because nothing responded',
    });
  });

  it('is noted of what came too late, which fails as it did', async () => {
    const { body, profile } = await ask('/twice');
    expect(body).to.equal('one');
    const { response } = profile.panels.request?.data as RequestPanelData;
    expect(response?.refused.map(({ by, method, name }) => [by, method, name])).to.deep.equal([
      ['twice', 'setHeader', 'Content-Type'],
      ['twice', 'end', null],
    ]);
  });

  it('is kept in few bytes', async () => {
    const { profile } = await ask('/order');
    expect(JSON.stringify(profile)).to.not.include('X-Never');
    const plain = await startFindingsApp((app) => {
      app.get('/', (_req, res) => res.send('x'));
    });
    const { profile: small } = await plain.ask('/');
    await plain.close();
    expect(JSON.stringify(small.panels.request?.data).length).to.be.below(3000);
  });
});

describe('cookies that are appended one by one', () => {
  it('take no longer than their number says', () => {
    const layer = {};
    const cookies = Array.from({ length: 1500 }, (_, at) => `c${at}=${'v'.repeat(40)}`);
    const headerWrites = cookies.map((_, at) => ({
      name: 'Set-Cookie',
      value: cookies.slice(0, at + 1),
      layer,
      hooked: false,
    }));
    const rawHeaders = cookies.flatMap((cookie) => ['Set-Cookie', cookie]);
    let sent: unknown[][] = [];
    const took = cpuMsOf(() => {
      sent = headerAuthors({ headerWrites, rawHeaders, layers: [layer] })?.sent ?? [];
    });
    expect(sent).to.have.length(1500);
    expect(sent.at(-1)).to.deep.equal([{ verb: 'set', layer: 0 }]);
    expect(took).to.be.below(500);
  });
});

describe('headers of a response that are watched', () => {
  it('are set as before where nothing is known of layers', async () => {
    const app = express();
    const { watch } = createResponseWatch({
      tracker: new ContextTracker(),
      previewBytes: 10,
      onHeaders: () => undefined,
      onClose: () => undefined,
    });
    const context = new Context({ token: 'abc123', kind: 'request' });
    app.use((_req, res, next) => {
      watch(res, context);
      next();
    });
    app.get('/', (_req, res) => {
      expect(res.setHeader('X-A', '1')).to.equal(res);
      expect(() => res.setHeader('X-B', undefined as never)).to.throw(/undefined/);
      res.appendHeader('X-A', '2').end();
    });
    const server = app.listen(0, '127.0.0.1');
    await new Promise((done) => server.once('listening', done));
    const { port } = server.address() as { port: number };
    const answer = await fetch(`http://127.0.0.1:${port}/`);
    expect([answer.status, answer.headers.get('x-a')]).to.deep.equal([200, '1, 2']);
    const writes = context.first('response')?.headerWrites ?? [];
    expect(writes.map(({ name, value, layer }) => [name, value, layer])).to.deep.include.members([
      ['X-A', '1', null],
      ['X-A', ['1', '2'], null],
    ]);
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
});
