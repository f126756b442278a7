/** Anything thrown by a handler. */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Express, RequestHandler } from 'express';
import { expectError } from '../support/error-answer.ts';
import { plainErrorPage, startHttpApp } from '../support/http-app.ts';
import type { HttpApp } from '../support/http-app.ts';
import { exchange, head } from '../support/raw-http.ts';

function throwing(): never {
  throw new Error('getter');
}

function cyclic(): Error {
  const first = new Error('first');
  const second = new Error('second', { cause: first });
  first.cause = second;
  return first;
}

function withTraps(): object {
  return new Proxy(
    {},
    { get: throwing, has: throwing, ownKeys: throwing, getOwnPropertyDescriptor: throwing },
  );
}

const handlers: [name: string, status: number, message: string | undefined, handler: RequestHandler][] = [
  ['error', 500, 'boom', () => { throw new Error('boom'); }],
  ['rejected', 500, 'boom', () => Promise.reject(new Error('boom'))],
  ['next', 500, 'boom', (_req, _res, next) => { next(new Error('boom')); }],
  ['later', 500, 'boom', (_req, _res, next) => { setTimeout(() => { next(new Error('boom')); }, 5); }],
  ['status', 418, 'tea', () => { throw Object.assign(new Error('tea'), { status: 418 }); }],
  ['statusCode', 503, 'busy', () => { throw Object.assign(new Error('busy'), { statusCode: 503 }); }],
  ['ok-status', 500, 'odd', () => { throw Object.assign(new Error('odd'), { status: 200 }); }],
  ['status-600', 500, 'odd', () => { throw Object.assign(new Error('odd'), { status: 600 }); }],
  ['status-text', 500, 'odd', () => { throw Object.assign(new Error('odd'), { status: '404' }); }],
  ['status-fraction', 500, 'odd', () => { throw Object.assign(new Error('odd'), { status: 404.5 }); }],
  ['two-statuses', 409, 'odd', () => { throw Object.assign(new Error('odd'), { status: 'x', statusCode: 409 }); }],
  ['odd-headers', 500, 'odd', () => { throw Object.assign(new Error('odd'), { headers: new Proxy({}, { ownKeys: throwing }) }); }],
  ['unnamed-status', 499, 'gone', () => { throw Object.assign(new Error('gone'), { status: 499 }); }],
  ['null', 500, undefined, () => { throw null; }],
  ['undefined', 500, undefined, () => { throw undefined; }],
  ['empty', 500, undefined, () => { throw ''; }],
  ['reject-null', 500, undefined, () => Promise.reject(null)],
  ['string', 500, 'text', () => { throw 'text'; }],
  ['symbol', 500, 'Symbol(s)', () => { throw Symbol('s'); }],
  ['function', 500, undefined, () => { throw throwing; }],
  ['object', 500, 'plain', () => { throw { message: 'plain' }; }],
  ['frozen', 409, 'ice', () => { throw Object.freeze(Object.assign(new Error('ice'), { status: 409 })); }],
  ['no-prototype', 500, undefined, () => { throw Object.create(null); }],
  ['getter', 500, undefined, () => { throw Object.defineProperties(new Error('x'), { stack: { get: throwing }, status: { get: throwing }, message: { get: throwing } }); }],
  ['proxy', 500, undefined, () => { throw withTraps(); }],
  ['cyclic', 500, 'first', () => { throw cyclic(); }],
  ['huge', 500, undefined, () => { throw new Error('x'.repeat(10_000_000)); }],
  ['markup', 500, '<script>alert(1)</script>', () => { throw new Error('<script>alert(1)</script>'); }],
  ['controls', 500, undefined, () => { throw new Error('a\r\nSet-Cookie: x=1\0\u2028\ud800'); }],
  ['overflow', 500, undefined, function overflow(req, res, next): void { overflow(req, res, next); }],
]; // prettier-ignore

function addRoutes(app: Express): void {
  for (const [name, , , handler] of handlers) app.get(`/${name}`, handler);
  app.get('/dressed', (_req, res) => {
    res.status(201).statusMessage = 'Made';
    res.cookie('a', 'b').type('json').set({
      'Content-Length': '5',
      'Content-Encoding': 'gzip',
      'Content-Disposition': 'attachment',
      'Content-Language': 'de',
      'Content-Range': 'bytes 0-1/2',
      'Content-Security-Policy': "default-src 'self'",
      'Transfer-Encoding': 'chunked',
      ETag: '"x"',
      'Last-Modified': new Date().toUTCString(),
      'Accept-Ranges': 'bytes',
      Expires: '0',
      'Cache-Control': 'public, max-age=9',
      'X-Powered-By': 'Pancakes',
      Vary: 'Origin',
      'Access-Control-Allow-Origin': '*',
    });
    res.sendDate = false;
    throw new Error('undressed');
  });
  app.get('/own-headers', () => {
    const headers = {
      'Retry-After': '5',
      'WWW-Authenticate': 'Basic realm="x"',
      'Content-Type': 'text/plain',
      'Content-Length': '1',
      'Set-Cookie': 'a=b',
      'X-Bad': 'a\r\nb',
      'bad name': 'x',
      'X-Debug-Token': 'ffffff',
    };
    throw Object.assign(new Error('own'), { status: 401, headers });
  });
  app.get('/half', (_req, res) => {
    res.write('half');
    throw new Error('late');
  });
  app.get('/half-known', (_req, res) => {
    res.setHeader('content-length', '100');
    res.write('half');
    setTimeout(() => res.req.next?.(new Error('late')), 20);
  });
  app.get('/whole', (_req, res) => {
    res.end('whole');
    throw new Error('after the end');
  });
  app.get('/twice', (_req, _res, next) => {
    next(new Error('first'));
    next(new Error('second'));
  });
  app.get('/writes-on', (_req, res, next) => {
    next(new Error('failed'));
    res.write('more');
    setTimeout(() => res.end('more'), 10);
  });
  app.get('/slow', (_req, res) => {
    setTimeout(() => res.end('slow'), 100);
  });
  app.get('/ok', (_req, res) => res.end('ok'));
}

describe('anything thrown', () => {
  let app: HttpApp;
  before(async () => {
    app = await startHttpApp({ after: addRoutes });
  });
  after(() => app.close());

  for (const [name, status, message] of handlers) {
    it(`${name} -> ${status}, for GET and HEAD, and the connection goes on`, async () => {
      const parts = [head(`GET /${name}`), head(`HEAD /${name}`), head('GET /ok')];
      const { responses, timedOut } = await exchange(app.port, parts, {
        count: 3,
        methods: ['GET', 'HEAD', 'GET'],
      });
      const { headers } = expectError(app, responses[0], { status, message });
      expectError(app, responses[1], { status, bodiless: true });
      expect(responses[2]?.body).to.equal('ok');
      expect(timedOut).to.equal(false);
      expect(
        app.recorded.get(headers['x-debug-token'] ?? '')?.errors.map((fact) => fact.status),
      ).to.deep.equal([status]);
    });
  }

  it('drops what the handler had set of the body it does not send, and keeps vary and CORS', async () => {
    const { responses } = await exchange(app.port, [head('GET /dressed'), head('GET /ok')], { count: 2 });
    const { headers, ...rest } = responses[0] ?? { headers: {}, body: '', status: 0, statusText: '' };
    expect([headers.vary, headers['access-control-allow-origin']]).to.deep.equal(['Origin', '*']);
    const { vary: _vary, 'access-control-allow-origin': _cors, ...others } = headers;
    expectError(app, { ...rest, headers: others }, { status: 500, message: 'undressed' });
    expect(rest.statusText).to.equal('Internal Server Error');
    expect(responses[1]?.body).to.equal('ok');
  });

  it("keeps the error's own headers, sanitized", async () => {
    const { responses } = await exchange(app.port, [head('GET /own-headers')], { count: 1 });
    const { headers, ...rest } = responses[0] ?? { headers: {}, body: '', status: 0, statusText: '' };
    expect([headers['retry-after'], headers['www-authenticate']]).to.deep.equal(['5', 'Basic realm="x"']);
    const { 'retry-after': _retry, 'www-authenticate': _authenticate, ...others } = headers;
    expectError(app, { ...rest, headers: others }, { status: 401, message: 'own' });
  });

  it('closes the connection under a half answer, and records the error', async () => {
    for (const path of ['/half', '/half-known']) {
      const before = app.recorded.size;
      const { responses, closed, timedOut } = await exchange(app.port, [head(`GET ${path}`)]);
      expect([responses.length, closed, timedOut], path).to.deep.equal([0, true, false]);
      expect([...app.recorded.values()][before]?.errors.map(({ status }) => status)).to.deep.equal([null]);
    }
  });

  it('closes it also where the half answer waits behind another', async () => {
    const { responses, closed, timedOut } = await exchange(app.port, [head('GET /slow') + head('GET /half')]);
    expect([responses.length, closed, timedOut]).to.deep.equal([0, true, false]);
  });

  it('leaves a whole answer alone', async () => {
    const { responses } = await exchange(app.port, [head('GET /whole'), head('GET /ok')], { count: 2 });
    expect(responses.map(({ body }) => body)).to.deep.equal(['whole', 'ok']);
  });

  it('answers the first of two errors and records both', async () => {
    const { responses } = await exchange(app.port, [head('GET /twice'), head('GET /ok')], { count: 2 });
    const { headers } = expectError(app, responses[0], { status: 500, message: 'first' });
    expect(app.recorded.get(headers['x-debug-token'] ?? '')?.errors).to.have.length(2);
    expect(responses[1]?.body).to.equal('ok');
  });

  it('survives a handler that writes on', async () => {
    const { responses } = await exchange(app.port, [head('GET /writes-on'), head('GET /ok')], {
      count: 2,
      pauseMs: 40,
    });
    expectError(app, responses[0], { status: 500, message: 'failed' });
    expect(responses[1]?.body).to.equal('ok');
  });

  it('survives a client that has gone', async () => {
    const socket = connect(app.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(head('GET /later'));
    await sleep(3);
    socket.resetAndDestroy();
    await sleep(50);
    const { responses } = await exchange(app.port, [head('GET /ok')], { count: 1 });
    expect(responses[0]?.status).to.equal(200);
  });
});

describe('a fault in the error page itself', () => {
  const faults: [string, () => string][] = [
    ['throws', throwing],
    ['throws null', () => { throw null; }],
    ['returns no text', () => undefined as unknown as string],
  ]; // prettier-ignore
  for (const [name, renderError] of faults) {
    it(`that ${name} falls back to a plain page, same status and headers`, async () => {
      const app = await startHttpApp({ renderError, after: addRoutes });
      for (const [path, status] of [
        ['/status', 418],
        ['/nothing', 404],
        ['/proxy', 500],
      ] as const) {
        const { responses } = await exchange(app.port, [head(`GET ${path}`), head('GET /ok')], { count: 2 });
        expectError(app, responses[0], { status });
        expect(responses[1]?.body).to.equal('ok');
      }
      await app.close();
    });
  }

  it('is told to the log', async () => {
    const app = await startHttpApp({ renderError: throwing, after: addRoutes });
    await exchange(app.port, [head('GET /nothing')], { count: 1 });
    expect(app.logged.map((error) => (error as Error).message)).to.deep.equal(['getter']);
    await app.close();
  });
});

describe('with debug off', () => {
  let app: HttpApp;
  before(async () => {
    app = await startHttpApp({
      debug: false,
      renderError: (page) => `${plainErrorPage(page)} ${String((page.error as Error).stack)}`,
      trustedHosts: ['app.test'],
      after: (owner) => {
        addRoutes(owner);
        owner.get('/exposed', () => { throw Object.assign(new Error('no such <order>'), { status: 422, expose: true }); }); // prettier-ignore
        owner.get('/slash/', (_req, res) => res.end());
      },
    });
  });
  after(() => app.close());

  const rows: [request: string, status: number, text: RegExp][] = [
    [head('GET /error'), 500, /<h1>500 Internal Server Error<\/h1><\/html>/],
    [head('GET /statusCode'), 503, /<h1>503 Service Unavailable<\/h1><\/html>/],
    [head('GET /status'), 418, /<h1>418 I&#39;m a Teapot<\/h1><\/html>/],
    [head('GET /exposed'), 422, /<p>no such &lt;order&gt;<\/p>/],
    [head('GET /nothing'), 404, /<p>No route found for &quot;GET \/nothing&quot;<\/p>/],
    [head('POST /ok'), 405, /Method Not Allowed/],
    [head('OPTIONS /ok'), 405, /Method Not Allowed/],
    [head('GET /_profiler/'), 404, /404 Not Found/],
    [head('GET /ok', {}, 'a b'), 400, /Invalid Host/],
    [head('GET /ok', {}, 'evil.test'), 400, /Untrusted Host/],
    [head('POST /ok', { 'content-length': '99999999' }), 413, /limited to 16 MiB/],
    [
      'garbage\r\n\r\n',
      400,
      /<h1>400 Bad Request<\/h1><p>Parse Error: Invalid method encountered<\/p><\/html>/,
    ],
    [
      `GET /${'a'.repeat(20_000)} HTTP/1.1\r\n\r\n`,
      431,
      /<h1>431 Request Header Fields Too Large<\/h1><p>Parse Error: Header overflow<\/p>/,
    ],
  ];
  for (const [request, status, text] of rows) {
    it(`${request.slice(0, 40).split('\r')[0] ?? ''} -> ${status} without stack, token or path`, async () => {
      const { responses } = await exchange(app.port, [request], { count: 1 });
      const [{ headers, body, ...line } = { headers: {} as Record<string, string>, body: '', status: 0 }] =
        responses;
      expect(line.status).to.equal(status);
      expect(body).to.match(text);
      expect(body).to.not.match(/\bat .*:\d+|\.ts|\.js|node_modules|[A-Z][a-z]+Error:|boom|busy|tea\b/);
      expect(Object.keys(headers).filter((name) => /debug|powered|cookie|etag/.test(name))).to.deep.equal([]);
      expect(headers['cache-control']).to.equal('no-cache, private');
      expect(headers['content-type']).to.equal('text/html; charset=UTF-8');
      expect(headers['x-robots-tag']).to.equal('noindex');
      expect(headers['x-request-id']).to.be.a('string');
      expect(headers).to.have.property('date');
      expect(headers.allow).to.equal(status === 405 ? 'GET' : undefined);
    });
  }

  it('records nothing and still redirects', async () => {
    const { responses } = await exchange(app.port, [head('GET /slash?x')], { count: 1 });
    expect([responses[0]?.status, responses[0]?.headers.location]).to.deep.equal([
      301,
      'http://app.test/slash/?x',
    ]);
    expect(app.recorded.size).to.equal(0);
  });
});
