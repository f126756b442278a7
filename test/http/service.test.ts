/** The HTTP contract through the whole service, profiler included: every token that is given opens, at once. */
import { connect, type AddressInfo } from 'node:net';
import { expect } from 'chai';
import { channel } from 'node:diagnostics_channel';
import express from 'express';
import { readConfig } from '../../app/config.ts';
import { createService } from '../../app/service.ts';
import type { Service } from '../../app/service.ts';
import type { RouteEntry } from '../../app/routes/services.ts';
import { decode } from '../support/error-answer.ts';
import { hostileCases } from '../support/hostile-cases.ts';
import { talk } from '../support/hostile-talk.ts';
import { exchange, head } from '../support/raw-http.ts';
import type { RawResponse } from '../support/raw-http.ts';
import { freshFolder } from '../support/fresh-folder.ts';

function buildRouter(): express.Router {
  const router = express.Router({ strict: true });
  router.get('/thing/', (_req, res) => res.json({ ok: true }));
  router.get('/cached', (_req, res) => res.status(304).end());
  router.post('/only', (req, res) => res.json(req.body as unknown));
  router.get('/item/:id', (req, res) => res.json(req.params));
  router.get('/boom', () => {
    throw new Error('boom');
  });
  router.get('/forged', () => {
    throw new Error('\x1b[31mred\nFAKE line\r\x9b31m');
  });
  router.get('/null', () => {
    throw null;
  });
  router.post('/upload', (req, res) => res.json({ files: (req.files as unknown[]).length }));
  return router;
}

const routes: RouteEntry[] = [{ mount: '/shop', router: buildRouter, parsers: 'after' }];

/** Request; status; message of an error, or Location. */
const rows: [request: string, status: number, expected?: string][] = [
  [head('GET /robots.txt'), 404, 'No route found for "GET /robots.txt"'],
  [head('HEAD /robots.txt'), 404],
  [head('OPTIONS /robots.txt'), 404, 'No route found for "OPTIONS /robots.txt"'],
  [head('GET /'), 404],
  [
    head('GET /x?y', { Referer: 'http://r.test/' }),
    404,
    'No route found for "GET /x" (from "http://r.test/")',
  ],
  [head('GET /shop/only'), 405, 'No route found for "GET /shop/only": Method Not Allowed (Allow: POST)'],
  [
    head('OPTIONS /shop/only'),
    405,
    'No route found for "OPTIONS /shop/only": Method Not Allowed (Allow: POST)',
  ],
  [head('POST /_profiler/search', { 'content-length': '0' }), 405],
  [head('GET /shop/thing?a=%20b'), 301, 'http://app.test/shop/thing/?a=%20b'],
  [head('GET /shop/thing/'), 200],
  [head('HEAD /shop/thing/'), 200],
  [head('GET /_profiler/'), 200],
  [head('GET /shop/cached'), 304],
  [head('GET /shop/item/%zz'), 400, "Failed to decode param '%zz'"],
  [head('GET /shop/boom'), 500, 'boom'],
  [head('GET /shop/null'), 500],
  [head('GET /x', {}, 'a b'), 400, 'Invalid Host "a b".'],
  [head('GET /_profiler/', {}, 'a b'), 400, 'Invalid Host "a b".'],
  [head('GET /x', {}, null), 400, 'Invalid Host "".'],
  ['GET / HTTP/1.1\r\nHost: app.test\r\nbad header\r\n\r\n', 400, 'Parse Error: Invalid header token'],
  [`GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: app.test\r\n\r\n`, 431],
  [head('CONNECT a.test:1'), 405],
  [head('GET /x', { Expect: 'x' }), 417],
  [
    head('POST /shop/only', { 'content-length': '16777217' }),
    413,
    'The request body is limited to 16 MiB; 16777217 bytes were sent.',
  ],
  [`${head('POST /shop/only', { 'content-type': 'application/json', 'content-length': '1' })}{`, 400],
  [`${head('POST /nowhere', { 'content-type': 'application/json', 'content-length': '2' })}{}`, 404],
];

function answerOf([response]: readonly RawResponse[]): RawResponse {
  if (response === undefined) throw new Error('no answer');
  return response;
}

async function start(
  environment: Record<string, string>,
  log: (line: string) => void = () => undefined,
  given: typeof routes = routes,
): Promise<{ service: Service; port: number; folder: string }> {
  const folder = freshFolder();
  const config = readConfig({
    APP_ENV: 'test',
    VAR_DIR: folder,
    PORT: '0',
    APP_DOMAIN: 'app.test',
    ...environment,
  });
  const service = createService({ config, routes: given, log, writeAccess: () => undefined });
  await new Promise<void>((resolve) => service.server.listen(0, config.host, resolve));
  return { service, port: (service.server.address() as AddressInfo).port, folder };
}

describe('the service', () => {
  let service: Service;
  let port: number;
  let folder: string;
  before(async () => {
    ({ service, port, folder } = await start({}));
  });
  after(() => service.close());

  it('welcomes at its root with the lines of a first route, as long as it has no router', async () => {
    const bare = await start(
      { APP_ENV: 'dev', DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' },
      undefined,
      [],
    );
    const page = await (await fetch(`http://127.0.0.1:${bare.port}/`)).text();
    await bare.service.close();
    expect(page).to.include('Your first route').and.include('app/routes/index.ts');
  });

  it('listens to nothing of the process any more once it is closed', async () => {
    const told = channel('tracing:express.router.request:end');
    const other = await start({});
    await service.close();
    expect(told.hasSubscribers).to.equal(true);
    await other.service.close();
    expect(told.hasSubscribers).to.equal(false);
    ({ service, port, folder } = await start({}));
  });

  it('shares a folder with another schema; says who reads it; logs what was thrown without control characters', async () => {
    const said: string[] = [];
    const other = await start({ VAR_DIR: folder, DB_SCHEMA: 'other', HOST: '0.0.0.0' }, (line) =>
      said.push(line),
    );
    await exchange(other.port, [head('GET /shop/forged')], { count: 1 });
    await other.service.close();
    expect(said.filter((line) => !line.startsWith('Profiles lost'))).to.have.lengthOf(2);
    expect(said[0]).to.match(/^Anyone who can reach 0\.0\.0\.0:\d+ can read every recorded request/);
    expect(said[1]).to.match(/^Error: \\x1b\[31mred\n {4}FAKE line\\x0d\\x9b31m\n {4}at /);
  });

  async function open(token: string | undefined): Promise<RawResponse | undefined> {
    const { responses } = await exchange(port, [head(`GET /_profiler/${token ?? ''}`)], { count: 1 });
    return responses[0];
  }

  for (const [index, [request, status, expected]] of rows.entries()) {
    it(`${index}: ${request.slice(0, 50).split('\r')[0] ?? ''} -> ${status}`, async () => {
      const methods = [request.split(' ')[0] ?? ''];
      const { responses } = await exchange(port, [request], { count: 1, methods });
      const response = answerOf(responses);
      const { headers, body } = response;
      expect(response.status, body.slice(0, 500)).to.equal(status);
      expect(headers['x-robots-tag']).to.equal('noindex');
      expect(headers).to.not.have.any.keys('set-cookie', 'x-powered-by');
      expect(
        headers['x-debug-token-link']?.endsWith(`/_profiler/${headers['x-debug-token'] ?? ''}`),
      ).to.equal(true);
      expect((await open(headers['x-debug-token']))?.status, 'the profile').to.equal(200);
      if (status < 400) {
        expect(headers).to.not.have.property('x-previous-debug-token');
        if (status === 301) expect(headers.location).to.equal(expected);
        return;
      }
      expect(headers['cache-control']).to.equal('no-cache, private');
      expect(headers['content-type']).to.equal('text/html; charset=UTF-8');
      expect(headers['content-security-policy']).to.match(/^default-src 'none'/);
      expect(headers).to.not.have.any.keys('etag', 'vary', 'transfer-encoding', 'strict-transport-security');
      expect((await open(headers['x-previous-debug-token']))?.status, 'the child').to.equal(200);
      if (expected !== undefined) expect(decode(body)).to.include(expected);
      if (methods[0] !== 'HEAD') expect(Buffer.byteLength(body)).to.equal(Number(headers['content-length']));
    });
  }

  it('responds to what no client sends as its RFC says, and goes on', async () => {
    const wrong: string[] = [];
    await Promise.all(
      hostileCases.map(async (one) => {
        const { statuses, timedOut } = await talk(() => connect(port, '127.0.0.1'), one);
        if (timedOut || String(statuses) !== String(one.statuses))
          wrong.push(`${one.name} (RFC ${one.rfc}): ${String(statuses)} instead of ${String(one.statuses)}`);
      }),
    );
    expect(hostileCases.length).to.be.greaterThan(100);
    expect(wrong).to.deep.equal([]);
    const { responses } = await exchange(port, [head('GET /shop/thing/')], { count: 1 });
    expect(responses[0]?.status).to.equal(200);
  });

  it('shows the fields of a form posted to a wrong path', async () => {
    const form = 'customer=Ann+Smith&note=shoes';
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': String(form.length),
    };
    const { responses } = await exchange(port, [`${head('POST /wrong', headers)}${form}`], { count: 1 });
    const profile = await exchange(
      port,
      [head(`GET /_profiler/${responses[0]?.headers['x-debug-token'] ?? ''}?panel=request`)],
      { count: 1 },
    );
    expect(profile.responses[0]?.body).to.include('Ann Smith').and.include('customer');
  });
});

describe('the service with debug off', () => {
  it('masks a secret also in a message that is meant to be seen', async () => {
    const { service, port } = await start({ APP_ENV: 'prod', API_KEY: 'correct-horse' });
    try {
      for (const [request, message] of [
        [head('GET /correct-horse/%63orrect-horse'), 'No route found'],
        [head('GET /', {}, 'correct-horse!'), 'Invalid Host'],
      ] as const) {
        const { responses } = await exchange(port, [request], { count: 1 });
        expect(responses[0]?.body).to.include(message).and.not.include('orrect-horse');
      }
    } finally {
      await service.close();
    }
  });

  it('keeps its answers and shows nothing of the profiler', async () => {
    const { service, port } = await start({ APP_ENV: 'prod' });
    try {
      for (const [request, status] of rows.filter(([request]) => !request.includes('_profiler'))) {
        const { responses } = await exchange(port, [request], {
          count: 1,
          methods: [request.split(' ')[0] ?? ''],
        });
        const { headers = {}, body = '' } = responses[0] ?? {};
        expect(responses[0]?.status, request.slice(0, 60)).to.equal(status);
        expect(headers['x-robots-tag']).to.equal('noindex');
        expect(Object.keys(headers).filter((name) => name.includes('debug'))).to.deep.equal([]);
        expect(body).to.not.match(/boom|node_modules|\.ts:\d|_profiler/);
      }
    } finally {
      await service.close();
    }
  });
});
