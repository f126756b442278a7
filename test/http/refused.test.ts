/** Requests that the host check or Node's parser refuses, over a raw socket. */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Express } from 'express';
import { expectError } from '../support/error-answer.ts';
import { echo, startHttpApp } from '../support/http-app.ts';
import type { HttpApp, HttpAppOptions } from '../support/http-app.ts';
import { exchange, head } from '../support/raw-http.ts';

function addRoutes(app: Express): void {
  app.get('/ok', echo);
  app.post('/body', echo);
  app.get('/slow', (_req, res) => {
    setTimeout(() => res.end('slow'), 200);
  });
}

function startRefusing(more: HttpAppOptions = {}): Promise<HttpApp> {
  // The routes that read by themselves come first, as an owner would have them.
  return startHttpApp({
    before: (app) => app.post('/begun', beginAtOnce),
    after: addRoutes,
    linger: { bytes: 1e6, ms: 300 },
    ...more,
  });
}

function beginAtOnce(req: Parameters<typeof echo>[0], res: Parameters<typeof echo>[1]): void {
  res.write('x');
  req.resume();
}

describe('a refused Host', () => {
  let app: HttpApp;
  before(async () => {
    app = await startHttpApp({ after: addRoutes, trustedHosts: ['app.test', '.shop.test', '127.0.0.1'] });
  });
  after(() => app.close());

  const rows: [name: string, request: string, message: string][] = [
    ['of two words', head('GET /ok', {}, 'a b'), 'Invalid Host "a b".'],
    ['of markup', head('GET /ok', {}, '<script>'), 'Invalid Host "<script>".'],
    ['on a wrong path', head('GET /nothing', {}, 'a b'), 'Invalid Host "a b".'],
    ['with POST', head('POST /body', { 'content-length': '0' }, 'a b'), 'Invalid Host "a b".'],
    ['with OPTIONS', head('OPTIONS /ok', {}, 'a b'), 'Invalid Host "a b".'],
    ['on a page of the profiler', head('GET /_profiler/', {}, 'a b'), 'Invalid Host "a b".'],
    ['that is missing', head('GET /ok', {}, null), 'Invalid Host "".'],
    ['that came twice', head('GET /ok', { Host: 'app.test' }), 'Invalid Host "app.test, app.test".'],
    ['that came twice, differing', head('GET /ok', { HOST: 'evil' }), 'Invalid Host "app.test, evil".'],
    ['that is not trusted', head('GET /ok', {}, 'evil.test'), 'Untrusted Host "evil.test".'],
    ['forwarded', head('GET /ok', { 'X-Forwarded-Host': 'bad host' }), 'Invalid Host "bad host".'],
    [
      'forwarded and not trusted',
      head('GET /ok', { 'X-Forwarded-Host': 'evil.example' }),
      'Untrusted Host "evil.example".',
    ],
    ['of an absolute target too', head('GET http://app.test/ok', {}, 'a b'), 'Invalid Host "a b".'],
  ];
  for (const [name, request, message] of rows) {
    it(`${name} is a 400 with a relative link, and the connection goes on`, async () => {
      const { responses } = await exchange(app.port, [request, head('GET /ok')], { count: 2 });
      const isProfilerPage = request.includes('/_profiler');
      const { headers } = expectError(app, responses[0], { status: 400, message, isProfilerPage });
      expect(headers['x-debug-token-link']).to.equal(`/_profiler/${headers['x-debug-token'] ?? ''}`);
      expect(responses[1]?.status).to.equal(200);
    });
  }

  it('runs nothing of the owner', async () => {
    const { responses } = await exchange(app.port, [head('HEAD /ok', {}, 'a b')], {
      count: 1,
      methods: ['HEAD'],
    });
    expectError(app, responses[0], { status: 400, bodiless: true });
  });
});

describe('what the parser refuses', () => {
  let app: HttpApp;
  let impatient: HttpApp;
  before(async () => {
    app = await startRefusing();
    impatient = await startRefusing({ arrival: { headMs: 300, wholeMs: 300 } });
  });
  after(() => Promise.all([app.close(), impatient.close()]));

  const rows: [name: string, request: string, status: number][] = [
    ['garbage', 'garbage\r\n\r\n', 400],
    ['a TLS handshake', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
    ['an unknown method', 'FOO / HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['a space in the target', 'GET /a b HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['a header without a colon', 'GET / HTTP/1.1\r\nHost: a\r\nbad header\r\n\r\n', 400],
    ['a NUL in a header', 'GET / HTTP/1.1\r\nHost: a\r\nX-A: b\0c\r\n\r\n', 400],
    ['two lengths', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab', 400],
    [
      'length and chunks',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    ['too many header bytes', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
    ['a target of 20 000 characters', `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, 431],
    [
      'a chunk size that is none',
      'POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
      400,
    ],
    [
      'a chunk longer than it says',
      'POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n',
      400,
    ],
    [
      'endless chunk extensions',
      `POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;${'a'.repeat(20_000)}\r\n`,
      413,
    ],
    ['headers that never end', 'GET / HTTP/1.1\r\nHost: a\r\nX-A: b\r\n', 408],
    ['a request line that never ends', 'GET /', 408],
    [
      'a body that never ends',
      'POST /body HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
      408,
    ],
    [
      'chunks that never end',
      'POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n',
      408,
    ],
  ];
  for (const [name, request, status] of rows) {
    it(`${name} is a full ${status} page, recorded, and the connection closes`, async () => {
      const asked = status === 408 ? impatient : app;
      const { responses, closed, reset, timedOut } = await exchange(asked.port, [request]);
      expect(responses).to.have.length(1);
      const { headers } = expectError(asked, responses[0], { status });
      expect(headers.connection).to.equal('close');
      expect([closed, reset, timedOut]).to.deep.equal([true, false, false]);
    });
  }

  it('takes no time over a header that is made to be slow', async () => {
    const before = process.cpuUsage();
    const request = `GET / HTTP/1.1\r\nHost: a\r\nX:${'\t'.repeat(3000)}\rx\r\n\r\n`;
    const { responses } = await exchange(app.port, [request]);
    expectError(app, responses[0], { status: 400 });
    expect(process.cpuUsage(before).user / 1000).to.be.lessThan(1000);
  });

  it('gives the same page when it comes byte by byte', async () => {
    for (const request of [
      'GET / HTTP/1.1\r\nHost: a\r\nbad header\r\n\r\n',
      'FOO / HTTP/1.1\r\n\r\n',
      'GET foo HTTP/1.1\r\n',
    ]) {
      const { responses } = await exchange(app.port, request.split(''), { pauseMs: 1 });
      expectError(app, responses[0], { status: 400 });
    }
  });

  it('is recorded with what arrived of it', async () => {
    const request =
      'GET /x?y HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-For: 9.9.9.9\r\n__proto__: 1\r\nbad header\r\n\r\n';
    const { responses } = await exchange(app.port, [request]);
    const { headers } = expectError(app, responses[0], {
      status: 400,
      message: 'Parse Error: Invalid header token',
    });
    const refused = app.recorded.get(headers['x-debug-token'] ?? '')?.refused;
    expect([refused?.method, refused?.url, refused?.origin.clientAddress]).to.deep.equal([
      'GET',
      '/x?y',
      '9.9.9.9',
    ]);
    expect(refused?.rawHeaders).to.deep.equal([
      'Host',
      'a.test',
      'X-Forwarded-For',
      '9.9.9.9',
      '__proto__',
      '1',
    ]);
    expect(headers['x-debug-token-link']).to.match(/^http:\/\/a\.test\/_profiler\//);
    expect(refused?.received.toString()).to.equal(request);
  });

  it('adds a broken body to the profile of its request', async () => {
    const request = head('POST /body', {
      'transfer-encoding': 'chunked',
      'content-type': 'application/json',
    });
    const { responses } = await exchange(app.port, [request, '1\r\n{\r\nzz\r\n'], { pauseMs: 30 });
    const { headers } = expectError(app, responses[0], {
      status: 400,
      message: 'Parse Error: Invalid character in chunk size',
    });
    const record = app.recorded.get(headers['x-debug-token'] ?? '');
    expect([record?.errors.length, record?.refused]).to.deep.equal([1, null]);
  });

  it('closes the connection where the answer has begun, and records the error', async () => {
    const request = head('POST /begun', { 'transfer-encoding': 'chunked' });
    const before = app.recorded.size;
    const { responses, closed, timedOut } = await exchange(app.port, [request, '1\r\na\r\nzz\r\n'], {
      pauseMs: 50,
    });
    expect([responses.length, closed, timedOut]).to.deep.equal([0, true, false]);
    const [record] = [...app.recorded.values()].slice(before);
    expect(record?.errors.map(({ status }) => status)).to.deep.equal([null]);
  });

  it('waits for the answer to the request before it', async () => {
    const { responses } = await exchange(app.port, [head('GET /slow') + head('GET /ok'), 'garbage\r\n\r\n'], {
      pauseMs: 30,
    });
    expect(responses.map(({ status }) => status)).to.deep.equal([200, 200, 400]);
    expectError(app, responses[2], { status: 400 });
  });

  it('is answered once, whatever comes behind it', async () => {
    const parts = [head('GET /slow'), 'garbage\r\n\r\n', 'more garbage\r\n\r\n', head('GET /ok')];
    const { responses } = await exchange(app.port, parts, { pauseMs: 30 });
    expect(responses.map(({ status }) => status)).to.deep.equal([200, 400]);
  });

  it('lets a client that is still sending read the page', async () => {
    const roomy = await startHttpApp();
    const { responses, reset } = await exchange(roomy.port, [
      'garbage\r\n\r\n',
      Buffer.alloc(8 * 1024 * 1024),
    ]);
    expectError(roomy, responses[0], { status: 400 });
    expect(reset).to.equal(false);
    await roomy.close();
  });

  it('comes after answered requests on the same connection', async () => {
    const { responses } = await exchange(app.port, [head('GET /ok'), 'garbage\r\n\r\n'], { pauseMs: 50 });
    expect(responses.map(({ status }) => status)).to.deep.equal([200, 400]);
  });

  it('gets no answer and no profile where nothing was received', async () => {
    const before = impatient.recorded.size;
    const idle = await exchange(impatient.port, []);
    expect([idle.responses.length, idle.closed, idle.timedOut]).to.deep.equal([0, true, false]);
    for (let i = 0; i < 5; i++) {
      const socket = connect(impatient.port, '127.0.0.1');
      socket.on('error', () => undefined);
      await new Promise((resolve) => socket.once('connect', resolve));
      if (i % 2 === 0) socket.end();
      else socket.resetAndDestroy();
    }
    await sleep(100);
    expect(impatient.recorded.size).to.equal(before);
  });

  it('gets no answer where the client has gone', async () => {
    const socket = connect(app.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write('GET / HTTP/1.1\r\nHost');
    await sleep(30);
    socket.resetAndDestroy();
    await sleep(50);
    const { responses } = await exchange(app.port, [head('GET /ok')], { count: 1 });
    expect(responses[0]?.status).to.equal(200);
  });

  it('answers a half-closed request', async () => {
    const { responses } = await exchange(app.port, [head('GET /nothing')], { count: 1, halfClose: true });
    expectError(app, responses[0], { status: 404 });
    const cut = await exchange(app.port, ['GET /nothing HTTP/1.1\r\nHost: a\r\n'], { halfClose: true });
    expectError(app, cut.responses[0], { status: 400 });
  });

  it('falls back to a plain page under the same headers when the page fails', async () => {
    const failing = await startHttpApp({
      renderError: () => {
        throw new Error('broken page');
      },
    });
    const { responses } = await exchange(failing.port, [
      'GET /<b> HTTP/1.1\r\nHost: a\r\nbad header\r\n\r\n',
    ]);
    const { body } = expectError(failing, responses[0], { status: 400 });
    expect(body).to.include('Parse Error: Invalid header token').and.not.include('broken page');
    await failing.close();
  });
});

describe('Expect, CONNECT and Upgrade', () => {
  let app: HttpApp;
  before(async () => {
    app = await startRefusing();
  });
  after(() => app.close());

  it('refuses an expectation by 417', async () => {
    const message = 'The expectation "200-ok" can\'t be met.';
    const { responses } = await exchange(app.port, [head('GET /ok', { Expect: '200-ok' }), head('GET /ok')], {
      count: 2,
    });
    expectError(app, responses[0], { status: 417, message });
    expect(responses[1]?.status).to.equal(200);
  });

  it('refuses a tunnel by 405', async () => {
    const { responses, closed } = await exchange(app.port, [
      head('CONNECT evil.test:443', {}, 'evil.test:443'),
    ]);
    const message = 'No route found for "CONNECT evil.test:443": Method Not Allowed (Allow: GET)';
    expectError(app, responses[0], { status: 405, message, allow: 'GET' });
    expect(closed).to.equal(true);
  });

  it('ignores an upgrade that nobody takes', async () => {
    const headers = {
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Key': 'x',
      'Sec-WebSocket-Version': '13',
    };
    const { responses } = await exchange(app.port, [head('GET /ws', headers)], { count: 1 });
    expectError(app, responses[0], { status: 404 });
  });

  it('refuses the malformed body of a request for one, whose end Node.js never tells', async () => {
    const headers = { Connection: 'Upgrade', Upgrade: 'x', 'Transfer-Encoding': 'chunked' };
    const send = (body: string) => exchange(app.port, [head('POST /ok', headers) + body], { count: 1 });
    const [malformed, whole] = await Promise.all([
      send('3\r\nabc\rX\r\n0\r\n\r\n'),
      send('3\r\nabc\r\n0\r\n\r\n'),
    ]);
    expectError(app, malformed.responses[0], {
      status: 400,
      message: 'The body is malformed or incomplete.',
    });
    expect(whole.responses[0]?.status).to.equal(405);
  });

  it('ignores h2c and HTTP/2 prefaces', async () => {
    const headers = { Connection: 'Upgrade, HTTP2-Settings', Upgrade: 'h2c', 'HTTP2-Settings': '' };
    const { responses } = await exchange(app.port, [head('GET /ok', headers)], { count: 1 });
    expect(responses[0]?.status).to.equal(200);
    const preface = await exchange(app.port, ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n']);
    expect([preface.timedOut, preface.closed]).to.deep.equal([false, true]);
  });
});
