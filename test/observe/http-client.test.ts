import { createHash } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import { once } from 'node:events';
import {
  type ClientRequest,
  createServer,
  get,
  type IncomingMessage,
  request as httpRequest,
  type Server,
} from 'node:http';
import { createRequire } from 'node:module';
import { type AddressInfo, connect as openSocket, type Socket } from 'node:net';
import { type ClientHttp2Session, connect, constants, createServer as createHttp2Server } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { ProxyAgent, request as askUndici } from 'undici';
import { createCallerFinder } from '../../app/observe/stacks/caller.ts';
import { httpClientPatches } from '../../app/observe/channels/http-clients.ts';
import { http2Patches } from '../../app/observe/channels/node-http.ts';
import { observeHttpClient } from '../../app/observe/http-client/http-client.ts';
import { watchLibraries } from '../../app/observe/libraries.ts';
import { Context, ContextTracker } from '../../app/profiler/record/context.ts';

const HERE = /^test\/observe\/http-client\.test\.ts:\d+$/;

/** A port on which nothing listens. */
async function unusedAddress(): Promise<AddressInfo> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return address;
}

function newContext(id = 0): Context {
  return new Context({ token: id.toString(16).padStart(6, '0'), kind: 'request' });
}

describe('outgoing calls as they are observed', () => {
  const tracker = new ContextTracker();
  let server: Server;
  let base: string;
  let observation: { close(): void };

  before((done) => {
    server = createServer((req, res) => {
      if (req.url?.startsWith('/redirect') === true) res.setHeader('location', '/target');
      const statuses: Record<string, number> = { '/missing': 404, '/redirect': 302 };
      res.writeHead(statuses[req.url?.replace(/\?.*/, '') ?? ''] ?? 200, {
        'x-debug-token-link': `${base}/_profiler/abc123`,
        'content-type': 'text/plain',
      });
      setTimeout(() => res.end('done'), 10);
    }).listen(0, '127.0.0.1', () => {
      base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      done();
    });
  });
  after((done) => {
    server.closeAllConnections();
    server.close(done);
  });
  beforeEach(() => {
    observation = observeHttpClient({ tracker, findCaller: createCallerFinder() });
  });
  afterEach(() => {
    observation.close();
  });

  async function getByHttp(url: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      get(url, { headers: { 'X-Api-Version': '3' } }, (response) => {
        response.resume().once('end', resolve);
      }).once('error', reject);
    });
    await sleep(1);
  }

  it('records fetch: method, URL, headers, status, time and the profile of the called service', async () => {
    const context = newContext();
    await tracker.run(context, async () => {
      const response = await fetch(`${base}/rates?country=DE`, {
        method: 'POST',
        headers: { 'x-a': 'b' },
        body: '{}',
      });
      await response.text();
    });
    await sleep(5);
    const [call] = context.all('call');
    expect(call).to.include({
      method: 'POST',
      url: `${base}/rates?country=DE`,
      client: 'fetch',
      status: 200,
      error: null,
    });
    expect(call?.link).to.equal(`${base}/_profiler/abc123`);
    expect(call?.requestHeaders).to.include.members(['x-a', 'b']);
    expect(call?.durationMs).to.be.at.least(9);
    expect(call?.headersMs).to.be.lessThan(call?.durationMs ?? 0);
    expect(call?.caller).to.match(HERE);
  });

  it('ends a call with the response that hands its connection over: a WebSocket, or a tunnel', async () => {
    const context = newContext();
    const peers = createServer();
    peers.on('upgrade', ({ headers }, socket) => {
      const hash = createHash('sha1').update(
        `${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`,
      );
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${hash.digest('base64')}\r\n\r\n`,
      );
    });
    peers.on('connect', (_req, socket) => socket.write('HTTP/1.1 200 OK\r\nX-Proxy: a\r\n\r\n'));
    const { port } = (peers.listen(0, '127.0.0.1'),
    await once(peers, 'listening'),
    peers.address()) as AddressInfo;
    const headers = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-key': 'a' };
    const sockets: Socket[] = [];
    const taken = async (request: ClientRequest, event: string): Promise<void> => {
      request.end();
      const [, socket] = (await once(request, event)) as [IncomingMessage, Socket];
      sockets.push(socket);
    };
    await tracker.run(context, async () => {
      await taken(httpRequest({ port, host: '127.0.0.1', path: '/chat', headers }), 'upgrade');
      await taken(httpRequest({ port, host: '127.0.0.1', method: 'CONNECT', path: 'a.test:443' }), 'connect');
      const unheard = httpRequest({ port, host: '127.0.0.1', path: '/unheard', headers }).end();
      await once(unheard, 'close');
      // Node.js 22 and later.
      if (typeof WebSocket === 'function') await once(new WebSocket(`ws://127.0.0.1:${port}/news`), 'open');
    });
    await sleep(5);
    const calls = context.all('call');
    expect(
      calls.map(({ url, status }) => `${status} ${url.replace(`http://127.0.0.1:${port}`, '')}`),
    ).to.deep.equal([
      '101 /chat',
      '200 /a.test:443',
      '101 /unheard',
      ...(calls.length > 3 ? ['101 /news'] : []),
    ]);
    for (const { durationMs, error } of calls)
      expect([durationMs === null, error]).to.deep.equal([false, null]);
    expect(calls.length).to.equal(typeof WebSocket === 'function' ? 4 : 3);
    for (const socket of sockets) socket.destroy();
    peers.closeAllConnections();
    peers.close();
  });

  it('names the target of a call that goes through a proxy', async () => {
    const context = newContext();
    const proxy = createServer((_req, res) => res.end('done'));
    proxy.on('connect', (req, socket: Socket) => {
      const target = openSocket(Number(req.url?.split(':')[1]), '127.0.0.1');
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      socket.pipe(target).pipe(socket);
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    const { port } = proxy.address() as AddressInfo;
    const [plain, tunnel] = [false, true].map(
      (proxyTunnel) => new ProxyAgent({ uri: `http://127.0.0.1:${port}`, proxyTunnel }),
    ) as [ProxyAgent, ProxyAgent];
    await tracker.run(context, async () => {
      const sent = get({
        port,
        host: '127.0.0.1',
        path: 'http://a.test/rates?of=EUR',
        headers: { host: 'a.test' },
      });
      await once(sent, 'response').then(([response]: IncomingMessage[]) => response?.resume());
      for (const dispatcher of [plain, tunnel])
        await (await askUndici(`${base}/rates`, { dispatcher })).body.text();
    });
    expect(context.all('call').map(({ method, url }) => `${method} ${url}`)).to.deep.equal([
      'GET http://a.test/rates?of=EUR',
      `GET ${base}/rates`,
      `GET ${base}/rates`,
      `CONNECT http://127.0.0.1:${port}/${base.replace('http://', '')}`,
    ]);
    await Promise.all([plain.close(), tunnel.close()]);
    proxy.close();
  });

  it('records no call of an exporter that measures the application', async () => {
    const context = newContext();
    const exporters: Record<string, string>[] = [
      { 'User-Agent': 'sentry.javascript.node/11.12.0' },
      { 'User-Agent': 'shop/1 OTel-OTLP-Exporter-JavaScript/0.220.0' },
      { 'User-Agent': 'NewRelic-NodeAgent/13.1.0 (nodejs 22.14.0 linux-x64)' },
      { 'Datadog-Meta-Lang': 'nodejs' },
      { 'User-Agent': 'shop of sentry.javascript.node' },
    ];
    await tracker.run(context, async () => {
      for (const headers of exporters) {
        await (await fetch(base, { method: 'POST', headers })).text();
        await once(get(base, { headers }), 'response');
      }
    });
    expect(context.all('call').map(({ client }) => client)).to.deep.equal(['fetch', 'http']);
  });

  it('names the line that called fetch, below helpers of libraries too, and with a body that is a stream', async () => {
    const context = newContext();
    const deep = (depth: number): Promise<Response> =>
      depth === 0 ? fetch(`${base}/deep`) : deep(depth - 1);
    await tracker.run(context, async () => {
      await (await deep(5)).text();
      const body = new Blob(['a', 'b']).stream();
      await (await fetch(`${base}/stream`, { method: 'POST', body, duplex: 'half' })).text();
      await Promise.all([fetch(`${base}/all`).then((response) => response.text())]);
    });
    expect(context.all('call')).to.have.length(3);
    for (const { caller } of context.all('call')) expect(caller).to.match(HERE);
  });

  it('gives the call that follows a redirect the line of the one that was redirected', async () => {
    const context = newContext();
    await tracker.run(context, async () => {
      await (await fetch(`${base}/redirect?to=/target`)).text();
    });
    const calls = context.all('call');
    expect(calls.map(({ url, status }) => `${status} ${url.slice(base.length)}`)).to.deep.equal([
      '302 /redirect?to=/target',
      '200 /target',
    ]);
    expect(calls[1]?.caller).to.equal(calls[0]?.caller);
    expect(calls[1]?.caller).to.match(HERE);
  });

  it('names the line that asked got, which makes its request in a later turn', async () => {
    const context = newContext();
    const url = `${base}/later?a=1`;
    await tracker.run(context, async () => {
      // As got 14.6 does.
      channel('got:request:create').publish({ method: 'GET', url });
      await new Promise((done) => {
        process.nextTick(get, url, { agent: false }, (response: IncomingMessage) =>
          response.resume().once('end', done),
        );
      });
    });
    expect(context.all('call')[0]?.caller).to.match(HERE);
  });

  it('names the line that asked superagent', async () => {
    const libraries = watchLibraries(httpClientPatches);
    const load = createRequire(import.meta.resolve('supertest'));
    const superagent = load('superagent') as { get(url: string): { query(given: object): Promise<unknown> } };
    const context = newContext();
    await tracker.run(context, async () => {
      await superagent.get(`${base}/asked`).query({ page: 2 });
    });
    libraries.close();
    const [call] = context.all('call');
    expect(call?.url).to.equal(`${base}/asked?page=2`);
    expect(call?.caller).to.match(HERE);
  });

  it('leaves fetch as it is', () => {
    observation.close();
    const before = Object.getOwnPropertyDescriptor(globalThis, 'fetch');
    observation = observeHttpClient({ tracker, findCaller: createCallerFinder() });
    expect(Object.getOwnPropertyDescriptor(globalThis, 'fetch')).to.deep.equal(before);
  });

  it('tells the parts of a new connection of fetch, and a connection that is used again', async () => {
    const context = newContext();
    // A server of its own: nothing is connected to it yet.
    const other = createServer((_req, res) => res.end('x')).listen(0, '127.0.0.1');
    await once(other, 'listening');
    const address = `http://localhost:${(other.address() as AddressInfo).port}`;
    await tracker.run(context, async () => {
      for (let n = 0; n < 3; n++) {
        await (await fetch(address)).text();
        await sleep(5);
      }
    });
    other.closeAllConnections();
    other.close();
    const [first, ...later] = context.all('call');
    expect(first?.reused).to.equal(false);
    expect(first?.connection?.lookupMs).to.be.a('number');
    expect(first?.connection?.connectMs).to.be.a('number');
    expect(first?.connection?.tlsMs).to.equal(null);
    expect(first?.sentMs).to.be.at.most(first?.headersMs ?? 0);
    expect(later.some(({ reused, connection }) => reused === true && connection === null)).to.equal(true);
  });

  it('shows the headers of fetch in the order and case in which they were sent', async () => {
    const context = newContext();
    await tracker.run(context, async () => {
      await (await fetch(`${base}/headers`, { headers: { 'X-Note': 'a: b' } })).text();
    });
    const headers = context.first('call')?.requestHeaders ?? [];
    expect(headers[0]?.toLowerCase()).to.equal('host');
    expect(headers).to.include('a: b');
    expect(headers.map((part) => part.toLowerCase())).to.include.members([
      'x-note',
      'user-agent',
      'connection',
    ]);
  });

  it('records node:http with the parts of a new connection and the caller', async () => {
    const context = newContext();
    await tracker.run(context, () => getByHttp(`${base}/missing`));
    const [call] = context.all('call');
    expect(call).to.include({ method: 'GET', url: `${base}/missing`, client: 'http', status: 404 });
    expect(call?.requestHeaders).to.include.members(['X-Api-Version', '3']);
    expect(call?.connection?.connectMs).to.be.a('number');
    expect(call?.caller).to.match(HERE);
    expect(call?.durationMs).to.be.at.least(9);
  });

  it('records a call that finds nobody', async () => {
    const context = newContext();
    await tracker.run(context, async () => {
      await fetch('http://127.0.0.1:1/').catch(() => undefined);
      await new Promise((resolve) => httpRequest('http://127.0.0.1:1/').once('error', resolve).end());
    });
    await sleep(5);
    const calls = context.all('call');
    expect(calls.map(({ client }) => client)).to.include('http');
    for (const call of calls) {
      expect(call.status).to.equal(null);
      expect(call.error).to.contain('ECONNREFUSED');
    }
  });

  it('names where a call went, whatever Host a proxy passes on', async () => {
    const context = newContext();
    const headers = { host: '127.0.0.1:1' };
    const { port: unused } = await unusedAddress();
    await tracker.run(context, async () => {
      const [response] = (await once(get(`${base}/a`, { headers }), 'response')) as [IncomingMessage];
      await once(response.resume(), 'end');
      await once(get(`http://127.0.0.1:${unused}/b`, { headers }), 'error');
    });
    expect(context.all('call').map(({ url }) => url)).to.deep.equal([
      `${base}/a`,
      `http://127.0.0.1:${unused}/b`,
    ]);
  });

  it('names address and headers of a call whose headers are a list, beside which Node.js writes no Host', async () => {
    const context = newContext();
    await tracker.run(context, async () => {
      const headers = ['Host', '127.0.0.1:1', 'X-A', '1', 'X-A', '2'];
      for (const given of [headers, headers.slice(2)]) {
        const [response] = (await once(get(`${base}/a`, { headers: given }), 'response')) as [
          IncomingMessage,
        ];
        await once(response.resume(), 'end');
      }
    });
    const calls = context.all('call');
    expect(calls.map(({ url }) => url)).to.deep.equal([`${base}/a`, `${base}/a`]);
    expect(calls[0]?.requestHeaders).to.include.ordered.members(['Host', '127.0.0.1:1', 'X-A', '1', 'X-A', '2']); // prettier-ignore
  });

  it('has an error where the called service closes within its response, not where the caller does', async () => {
    const context = newContext();
    const half = createServer((_req, res) => {
      res.writeHead(200, { 'content-length': 100 });
      res.write('half');
      if (_req.url === '/cut') setImmediate(() => res.destroy());
    }).listen(0, '127.0.0.1');
    await once(half, 'listening');
    const origin = `http://127.0.0.1:${(half.address() as AddressInfo).port}`;
    await tracker.run(context, async () => {
      for (const path of ['/cut', '/left']) {
        const [response] = (await once(get(origin + path), 'response')) as [IncomingMessage];
        response.once('data', () => {
          if (path === '/left') response.destroy();
        });
        await new Promise((resolve) => response.on('error', () => undefined).once('close', resolve));
      }
    });
    half.closeAllConnections();
    half.close();
    expect(context.all('call').map(({ error }) => error)).to.deep.equal([
      'Error: the connection closed within the response',
      null,
    ]);
  });

  it('ends a call that is destroyed at once, and says whether a timer did it', async () => {
    const context = newContext();
    const silent = createServer((req) => {
      if (req.url === '/closed') req.socket.destroy();
    }).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const origin = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const ways: Record<string, (call: ClientRequest) => void> = {
      '/destroyed': (call) => void call.once('socket', () => setImmediate(() => call.destroy())),
      '/timer': (call) => void setTimeout(() => call.destroy(), 5),
      '/error': (call) => void setTimeout(() => call.destroy(new TypeError('of its client')), 5),
      '/closed': () => undefined,
    };
    await tracker.run(context, async () => {
      for (const [path, leave] of Object.entries(ways)) {
        const call = get(origin + path);
        leave(call);
        const isGone = once(call, 'error');
        if (path === '/timer') {
          await sleep(10);
          expect(context.last('call')?.durationMs).to.be.a('number');
        }
        await isGone.catch(() => undefined);
      }
    });
    silent.close();
    expect(context.all('call').map(({ error }) => error)).to.deep.equal([
      'AbortError: the request was destroyed',
      'AbortError: the request was destroyed, by a timer',
      'TypeError: of its client',
      'Error: socket hang up',
    ]);
  });

  it('records nothing outside of a request, nor once closed', async () => {
    await getByHttp(base);
    observation.close();
    const context = newContext();
    await tracker.run(context, () => getByHttp(base));
    expect(context.all('call')).to.have.length(0);
  });

  describe('over HTTP/2', () => {
    const libraries = watchLibraries(http2Patches);
    after(() => libraries.close());

    it('can be promisified, as it can by itself', async () => {
      const upstream = createHttp2Server();
      await once(upstream.listen(0), 'listening');
      const { port } = upstream.address() as AddressInfo;
      const session = (await promisify(connect)(`http://127.0.0.1:${port}`)) as ClientHttp2Session;
      session.close();
      upstream.close();
    });

    it('has status, duration, caller, and what gRPC says at its end', async () => {
      const upstream = createHttp2Server();
      upstream.on('stream', (stream, headers) => {
        if (headers[':path'] === '/refused') {
          stream.on('error', () => undefined);
          stream.close(constants.NGHTTP2_REFUSED_STREAM);
          return;
        }
        stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
        stream.on('wantTrailers', () => {
          const failed = headers[':path'] === '/svc.Users/Get';
          stream.sendTrailers(
            failed ? { 'grpc-status': '14', 'grpc-message': 'unavailable' } : { 'grpc-status': '0' },
          );
        });
        setTimeout(() => stream.end('x'), 20);
      });
      upstream.listen(0, '127.0.0.1');
      await once(upstream, 'listening');
      const { port } = upstream.address() as AddressInfo;
      const session = connect(`http://127.0.0.1:${port}`);
      const unused = (await unusedAddress()).port;
      const call = async (path: string, through = session): Promise<void> => {
        const stream = through.request({ ':path': path, ':method': 'POST', te: 'trailers' });
        stream
          .on('error', () => undefined)
          .resume()
          .end();
        const last = (): unknown => context.last('call')?.durationMs;
        if (path === '/svc.Users/List') stream.once('end', () => (endedMs = last()));
        await new Promise((resolve) => stream.once('close', resolve));
      };
      let endedMs: unknown = null;
      const context = newContext();
      try {
        await tracker.run(context, async () => {
          await call('/svc.Users/Get');
          await call('/svc.Users/List');
          await call('/refused');
          const nobody = connect(`http://127.0.0.1:${unused}`).on('error', () => undefined);
          await call('/unreached', nobody);
        });
      } finally {
        session.destroy();
        upstream.close();
      }
      const [failed, fine, refused, unreached] = context.all('call');
      // Read to its end, not only once the stream has closed.
      expect(endedMs).to.be.a('number');
      expect(failed).to.include({
        client: 'http2',
        method: 'POST',
        url: `http://127.0.0.1:${port}/svc.Users/Get`,
        status: 200,
        error: 'Error: grpc-status 14: unavailable',
      });
      expect(failed!.caller).to.match(HERE);
      expect(failed!.durationMs).to.be.within(15, 1000);
      expect(failed!.requestHeaders).to.include.members(['te', 'trailers']);
      expect(fine).to.include({ status: 200, error: null });
      expect(refused!.status).to.equal(null);
      expect(refused!.error).to.match(/losed with (HTTP\/2 error 7|error code NGHTTP2_REFUSED_STREAM)/);
      expect(unreached!.error).to.include('ECONNREFUSED');
    });
  });
});
