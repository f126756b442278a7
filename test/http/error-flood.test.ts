/** Many requests that fail at once: each of them has its page, or a link to its profile. */
import { expect } from 'chai';
import express from 'express';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { readConfig } from '../../app/config.ts';
import { createProfiler, type Profiler } from '../../app/index.ts';
import { createOriginResolver } from '../../app/middleware/origin.ts';
import { exchange } from '../support/raw-http.ts';
import { useRecordingLimit } from '../support/recording-limit.ts';
import { until } from '../support/waiting.ts';

const CONNECTIONS = 150;
const PIPELINED = 4;
/** Per second, in bursts of 5: few enough on a slow machine, too. */
const FULL = 1;

describe('a flood of errors', () => {
  useRecordingLimit();
  let server: Server;
  let profiler: Profiler;
  let finished = 0;
  const sockets: Socket[] = [];
  const received: string[] = [];

  before(async () => {
    profiler = createProfiler({ enabled: true, fullPerSecond: FULL, warn: () => undefined });
    const app = express();
    app.use(profiler.watch, profiler.pages);
    app.use((_req, res) => {
      res.on('finish', () => finished++);
      throw new Error('broken');
    });
    app.use(profiler.errors);
    server = createServer(app).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    // The first error page loads what makes them.
    await fetch(`http://127.0.0.1:${port}/first`).then((response) => response.text());
    finished = 0;
    for (let at = 0; at <= CONNECTIONS; at++) {
      const socket = connect(port, '127.0.0.1');
      sockets.push(socket);
      socket.on('data', (chunk) => (received[at] = (received[at] ?? '') + chunk.toString()));
      await once(socket, 'connect');
    }
    const request = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
    sockets.slice(1).forEach((socket) => socket.write(request('/broken').repeat(PIPELINED)));
    await until(() => finished === CONNECTIONS * PIPELINED, 'every error has its page');
  });
  after(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await profiler.close();
  });

  it('gets short pages with the address of the profile above the limit of full records', async () => {
    const pages = received.slice(1).join('');
    const short = pages.match(/<a href="[^"]+\/_profiler\/([0-9a-f]{6})">Profile of this request/g) ?? [];
    // The first request of all was one of the full ones.
    expect(short.length)
      .to.be.greaterThan(0)
      .and.lessThan(CONNECTIONS * PIPELINED);
    const token = /([0-9a-f]{6})">/.exec(short[0] ?? '')?.[1] ?? '';
    const found = await profiler.profiles.read(token);
    expect(found?.profile.summary).to.equal('limit');
    expect(found?.profile.error?.message).to.equal('broken');
  });
});

describe('a flood of requests that the parser refuses', () => {
  useRecordingLimit();
  const refused = CONNECTIONS * 2;
  let server: Server;
  let profiler: Profiler;
  let stop: () => void;
  const accepted: Socket[] = [];
  const clients: Socket[] = [];
  const received: string[] = [];

  before(async () => {
    profiler = createProfiler({ enabled: true, fullPerSecond: FULL, warn: () => undefined });
    const app = express();
    app.use(profiler.watch, profiler.pages, profiler.errors);
    server = createServer(app);
    stop = profiler.refuse(server, { resolver: createOriginResolver(readConfig({})) });
    server.on('connection', (socket) => accepted.push(socket)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    // The first error page loads what makes them.
    await fetch(`http://127.0.0.1:${port}/first`).then((response) => response.text());
    accepted.length = 0;
    for (let at = 0; at < refused; at++) {
      const socket = connect(port, '127.0.0.1');
      clients.push(socket);
      socket.on('data', (chunk) => (received[at] = (received[at] ?? '') + chunk.toString()));
      socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n');
    }
    await until(() => accepted.filter(({ bytesRead }) => bytesRead > 0).length === refused, 'all are slow');
  });
  after(async () => {
    for (const socket of clients) socket.destroy();
    stop();
    server.close();
    await profiler.close();
  });

  it('gets its pages, short ones above the limit of full records', async () => {
    // As Node does with all requests that took too long.
    for (const socket of accepted)
      server.emit(
        'clientError',
        Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }),
        socket,
      );
    const whole = (): string[] => received.filter((text) => text.includes('</html>'));
    await until(() => whole().length === refused, 'each has its page');
    expect(whole().every((text) => text.startsWith('HTTP/1.1 408 Request Timeout\r\n'))).to.equal(true);
    const tokens = whole().map((text) => /\r\nx-debug-token: ([0-9a-f]{6})\r\n/.exec(text)?.[1] ?? '');
    expect(new Set(tokens).size).to.equal(refused);
    const reasons = await Promise.all(
      tokens.map(async (token) => (await profiler.profiles.read(token))?.profile.summary),
    );
    expect(reasons.filter((reason) => reason === 'limit').length)
      .to.be.greaterThan(0)
      .and.lessThan(refused);
  });
});

describe('a client that ends its side with its request', () => {
  it('gets the page of an error and of a refused request', async () => {
    const profiler = createProfiler({ enabled: true, warn: () => undefined });
    const app = express();
    app.use(profiler.watch, profiler.pages);
    app.use(() => {
      throw new Error('broken');
    });
    app.use(profiler.errors);
    const server = createServer(app).listen(0, '127.0.0.1');
    profiler.refuse(server, { resolver: createOriginResolver(readConfig({})) });
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    // The first error page loads what makes them.
    await fetch(`http://127.0.0.1:${port}/first`).then((response) => response.text());
    try {
      for (const [request, status] of [
        ['GET / HTTP/1.1\r\nHost: localhost\r\n\r\n', 500],
        ['GET /\0 HTTP/1.1\r\nHost: localhost\r\n\r\n', 400],
      ] as const)
        for (let round = 0; round < 4; round++) {
          const { responses } = await exchange(port, [request], { halfClose: true });
          expect(responses.map((response) => response.status)).to.deep.equal([status]);
        }
    } finally {
      server.close();
      await profiler.close();
    }
  });
});
