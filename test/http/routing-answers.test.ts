/** 404, 405, 301 and OPTIONS over a raw socket, one row per case. */
import { expect } from 'chai';
import express from 'express';
import type { ErrorRequestHandler, Express } from 'express';
import { expectError } from '../support/error-answer.ts';
import { echo, startHttpApp } from '../support/http-app.ts';
import type { HttpApp } from '../support/http-app.ts';
import { exchange, head } from '../support/raw-http.ts';

function addRoutes(app: Express): void {
  app.get('/slash/', echo);
  app.get('/noslash', echo);
  app.get('/deep/a/', echo);
  app.post('/slashpost/', echo);
  app.post('/postonly', echo);
  app.put('/putpatch', echo).patch('/putpatch', echo);
  app.route('/many').post(echo).get(echo).delete(echo);
  app.get('/two', echo);
  app.post('/two', echo);
  app.get('/item/:id', echo);
  app.get('/passes', (_req, _res, next) => {
    next();
  });
  app.options('/own-options', (_req, res) => {
    res.setHeader('allow', 'OPTIONS').end('mine');
  });
  app.get('/own-options', echo);
  app.head('/headonly', echo);
  app.get(/^\/re(\d+)$/, echo);
  app.get(['/list-a', '/list-b/'], echo);
  const strict = express.Router({ strict: true });
  strict.get('/inner/', echo);
  strict.use('/deeper/:name', express.Router({ strict: true }).delete('/gone', echo));
  app.use('/api/v1', strict);
  const loose = express.Router();
  loose.get('/both', echo);
  app.use('/loose', loose);
  const sub = express();
  sub.disable('x-powered-by');
  sub.get('/in-sub', echo);
  sub.put('/in-sub', echo);
  app.use('/sub', sub);
  const inner = express();
  inner.disable('x-powered-by');
  inner.patch('/x', echo);
  app.use('/routed', express.Router().use('/app', inner as unknown as express.Router));
}

/** Method and path, headers; status, then message, Allow or Location. */
type Row = [line: string, status: number, expected?: string, headers?: Record<string, string>];

const notFound = (line: string): string => `No route found for "${line}"`;
const rows: Row[] = [
  ['GET /robots.txt', 404],
  ['GET /', 404],
  ['HEAD /robots.txt', 404],
  ['POST /robots.txt', 404],
  ['OPTIONS /robots.txt', 404],
  ['OPTIONS *', 404],
  ['GET /robots.txt?x=1&y=2', 404, notFound('GET /robots.txt')],
  ['GET /?a', 404, notFound('GET /')],
  ['GET /data.json', 404, undefined, { Accept: 'application/json' }],
  [
    'GET /x',
    404,
    `${notFound('GET /x')} (from "http://a.test/?q=1&r=<b>")`,
    { Referer: 'http://a.test/?q=1&r=<b>' },
  ],
  [
    'GET /x',
    404,
    `${notFound('GET /x')} (from "http://a.test/?p=[masked]")`,
    { Referer: 'http://a.test/?p=hunter2hunter2' },
  ],
  ['GET /x', 404, undefined, { Referer: '' }],
  ['GET /%zz', 404],
  ['GET /a%0d%0aX:1', 404],
  [`GET /${'a'.repeat(9000)}`, 404],
  ['GET ///', 404],
  ['GET /NOSLASH', 200],
  ['GET /<script>alert(1)</script>', 404],
  ['GET /__proto__', 404],
  ['GET /a#b', 404],
  ['GET /x', 404, undefined, { 'X-Original-URL': '/noslash', 'X-Rewrite-URL': '/noslash' }],
  ['POST /noslash', 405, 'GET', { 'X-HTTP-Method-Override': 'GET' }],
  ['GET /item/%zz', 400, "Failed to decode param '%zz'"],
  ['GET /item/a%2Fb', 200],
  ['GET /passes', 404],
  ['HEAD /passes', 404],
  ['GET /postonly', 405, 'POST'],
  ['HEAD /postonly', 405, 'POST'],
  ['OPTIONS /postonly', 405, 'POST'],
  ['OPTIONS /noslash', 405, 'GET'],
  ['GET /putpatch', 405, 'PUT, PATCH'],
  ['PUT /many', 405, 'POST, GET, DELETE'],
  ['DELETE /two', 405, 'GET, POST'],
  ['POST /re12', 405, 'GET'],
  ['GET /re', 404],
  ['POST /list-a', 405, 'GET'],
  ['GET /headonly', 405, 'HEAD'],
  ['HEAD /headonly', 200],
  ['PUT /two', 405, 'GET, POST', { Referer: 'http://a.test/' }],
  ['OPTIONS /own-options', 200],
  ['POST /own-options', 405, 'OPTIONS, GET'],
  ['GET /api/v1/deeper/bob/gone', 405, 'DELETE'],
  ['OPTIONS /api/v1/deeper/bob/gone', 405, 'DELETE'],
  ['OPTIONS /api/v1/none', 404],
  ['OPTIONS /api/v1', 404],
  ['POST /sub/in-sub', 405, 'GET, PUT'],
  ['GET /sub/none', 404],
  ['GET /routed/app/x', 405, 'PATCH'],
  ['GET /slash?x=1&y=a%20b', 301, '/slash/?x=1&y=a%20b'],
  ['HEAD /slash?x=1', 301, '/slash/?x=1'],
  ['GET /slash', 301, '/slash/'],
  ['GET /slash?//evil.test/../%0d%0a?a', 301, '/slash/?//evil.test/../%0d%0a?a'],
  ['GET /noslash/?x=1', 301, '/noslash?x=1'],
  ['GET /noslash//', 301, '/noslash'],
  ['GET /list-b', 301, '/list-b/'],
  ['GET /item/%3Cb%3E/', 301, '/item/%3Cb%3E'],
  ['GET /api/v1/inner', 301, '/api/v1/inner/'],
  ['GET /loose/both/', 200],
  ['GET /slash', 301, '/slash/', { Accept: 'application/json' }],
  ['POST /slash', 404],
  ['PUT /noslash/', 404],
  ['OPTIONS /slash', 404],
  ['GET /slashpost', 404],
  ['POST /slashpost', 404],
  ['GET //evil.test/', 404],
  ['GET //slash', 404],
  ['GET /\\evil.test/', 404],
  ['GET /%2fevil.test', 404],
  ['GET //slash/..', 404],
  ['GET http://other.test/noslash', 200],
  ['GET http://other.test/slash?q=1', 301, '/slash/?q=1'],
  ['GET HTTP://other.test', 404, notFound('GET /')],
  ['GET http://other.test?q', 404, notFound('GET /')],
  ['GET http://other.test/robots.txt?x', 404, notFound('GET /robots.txt')],
  ['GET http:///', 400, 'Invalid request target "http:///".'],
  ['GET https://user:pass@evil.test/slash', 301, '/slash/'],
];

describe('routing answers', () => {
  let app: HttpApp;
  before(async () => {
    app = await startHttpApp({ after: addRoutes });
  });
  after(() => app.close());

  for (const [index, [line, status, expected, headers = {}]] of rows.entries()) {
    it(`${index}: ${line.slice(0, 60)} -> ${status} ${expected ?? ''}`, async () => {
      const method = line.split(' ')[0] ?? '';
      const path = (line.slice(method.length + 1).split('?')[0] ?? '').replace(/^http:\/\/[^/]*/i, '') || '/';
      // The second request shows that the first left the connection clean.
      const parts = [head(line, headers), head('GET /two')];
      const { responses, timedOut } = await exchange(app.port, parts, {
        count: 2,
        methods: [method],
        pauseMs: 20,
      });
      const [response, second] = responses;
      expect(second?.status).to.equal(200);
      expect(timedOut).to.equal(false);
      expect(response?.headers['x-robots-tag']).to.equal('noindex');
      expect(response?.headers['x-debug-token']).to.match(/^[0-9a-f]{6}$/);
      expect(response?.headers).to.not.have.any.keys('set-cookie', 'x-powered-by');
      if (status >= 400) {
        const rejected = `${notFound(`${method} ${path}`)}: Method Not Allowed (Allow: ${expected ?? ''})`;
        const message = status === 405 ? rejected : (expected ?? notFound(`${method} ${path}`));
        const allow = status === 405 ? expected : undefined;
        expectError(app, response, { status, message, allow, bodiless: method === 'HEAD' });
        return;
      }
      expect(response?.status).to.equal(status);
      expect(response?.headers).to.not.have.property('x-previous-debug-token');
      if (status !== 301) return;
      expect(response?.headers.location).to.equal(`http://app.test${expected ?? ''}`);
      expect(response?.headers['content-type']).to.equal('text/html; charset=UTF-8');
      expect(response?.body.includes('Redirecting to')).to.equal(method !== 'HEAD');
    });
  }

  it('keeps the failed second attempt as the cause of a 404', async () => {
    for (const [path, other] of [
      ['/robots.txt', '/robots.txt/'],
      ['/x/', '/x'],
      ['/', '/'],
    ]) {
      const { responses } = await exchange(app.port, [head(`GET ${path ?? ''}`)], { count: 1 });
      const { errors } = app.recorded.get(responses[0]?.headers['x-debug-token'] ?? '') ?? {};
      const error = errors?.[0]?.error as Error;
      expect((error.cause as Error).message).to.equal(`No routes found for "${other ?? ''}".`);
    }
  });

  it('gives every error a fresh child', async () => {
    const seen = new Set<string>();
    for (let i = 0; i < 5; i++) {
      const { responses } = await exchange(app.port, [head('GET /x')], { count: 1 });
      seen.add(responses[0]?.headers['x-previous-debug-token'] ?? '');
    }
    expect(seen.size).to.equal(5);
  });

  it('builds Location and token link from the origin that the client sees', async () => {
    const headers = {
      'X-Forwarded-Proto': 'https',
      'X-Forwarded-Host': 'shop.test',
      'X-Forwarded-Port': '8443',
    };
    const { responses } = await exchange(app.port, [head('GET /slash?a=1', headers)], { count: 1 });
    expect(responses[0]?.headers.location).to.equal('https://shop.test:8443/slash/?a=1');
    expect(responses[0]?.headers['x-debug-token-link']).to.match(/^https:\/\/shop\.test:8443\/_profiler\//);
  });

  it('lets Express tell the same origin', async () => {
    const headers = {
      'X-Forwarded-Proto': 'ftp',
      'X-Forwarded-For': 'junk, 9.9.9.9',
      'X-Forwarded-Host': 'shop.test:81',
    };
    const { responses } = await exchange(app.port, [head('GET /noslash', headers)], { count: 1 });
    const told = JSON.parse(responses[0]?.body ?? '') as unknown;
    expect(told).to.deep.equal({ url: '/noslash', ip: '9.9.9.9', protocol: 'http', hostname: 'shop.test' });
  });

  it('answers the given request id back, and makes one otherwise', async () => {
    const kept = await exchange(app.port, [head('GET /noslash', { 'X-Request-ID': 'abc-1' })], { count: 1 });
    expect(kept.responses[0]?.headers['x-request-id']).to.equal('abc-1');
    const made = await exchange(app.port, [head('GET /nothing', { 'X-Request-ID': 'a b' })], { count: 1 });
    expect(made.responses[0]?.headers['x-request-id']).to.match(/^[0-9a-f-]{36}$/);
  });
});

describe('an application that matches nearly everything', () => {
  let app: HttpApp;
  before(async () => {
    app = await startHttpApp({
      after: (owner) => {
        owner.get('/p/:id', echo);
        owner.get('/*rest/', echo);
        owner.use(((_error, _req, _res, next) => {
          next();
        }) as ErrorRequestHandler);
      },
    });
  });
  after(() => app.close());

  it('is never redirected to another host', async () => {
    for (const path of [
      '//evil.test',
      '/\\evil.test',
      '/%2fevil.test',
      '/%5Cevil.test',
      '///evil.test',
      '//',
    ]) {
      const { responses } = await exchange(app.port, [head(`GET ${path}`)], { count: 1 });
      expectError(app, responses[0], { status: 404, message: `No route found for "GET ${path}"` });
    }
    const { responses } = await exchange(app.port, [head('GET /fine//x')], { count: 1 });
    expect(responses[0]?.headers.location).to.equal('http://app.test/fine//x/');
  });

  it('answers 400 to what can not be decoded, also where an owner swallows the error', async () => {
    const { responses } = await exchange(app.port, [head('GET /p/%zz')], { count: 1 });
    expectError(app, responses[0], { status: 400, message: "Failed to decode param '%zz'" });
  });
});
