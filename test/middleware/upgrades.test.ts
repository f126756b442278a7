/** Upgraded connections are not recorded, and work as without the profiler. */
import { expect } from 'chai';
import express from 'express';
import { once } from 'node:events';
import { createServer, type IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { WebSocket, WebSocketServer } from 'ws';
import { createProfiler } from '../../app/index.ts';

const HANDSHAKE =
  'GET /room HTTP/1.1\r\nhost: shop.test\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';

describe('upgrades', () => {
  const open = async () => {
    const profiler = createProfiler({ warn: () => undefined });
    const app = express();
    let seen = 0;
    app.use(profiler.watch, profiler.pages);
    app.get('/', (_req, res) => void res.send('home'));
    app.get('/room', (_req, res) => {
      seen++;
      res.end();
    });
    const server = createServer(app).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await (await fetch(`http://127.0.0.1:${port}/`)).text();
    return {
      app,
      server,
      port,
      seen: () => seen,
      urls: async () => (await profiler.profiles.find({ limit: 50, offset: 0 })).rows.map(({ url }) => url),
      async close() {
        server.closeAllConnections();
        server.close();
        await profiler.close(0);
      },
    };
  };
  let host: Awaited<ReturnType<typeof open>>;

  beforeEach(async () => {
    host = await open();
  });
  afterEach(() => host.close());

  it('reach a WebSocket server, and leave no row', async () => {
    const sockets = new WebSocketServer({ server: host.server });
    sockets.on('connection', (socket) => {
      socket.on('message', (sent: Buffer) => {
        socket.send(`echo ${String(sent)}`);
      });
    });
    const socket = new WebSocket(`ws://127.0.0.1:${host.port}/socket`);
    await once(socket, 'open');
    socket.send('hello');
    const [answer] = (await once(socket, 'message')) as [Buffer];
    expect(String(answer)).to.equal('echo hello');
    socket.close();
    await once(socket, 'close');
    expect(Object.hasOwn(host.server, 'emit')).to.equal(false);
    expect(await host.urls()).to.deep.equal(['/']);
  });

  it('that an application passes to its own routes run there, and leave no row', async () => {
    host.server.on('upgrade', (req: IncomingMessage, socket: Socket) => {
      host.app(req as express.Request, new ServerResponse(req) as express.Response);
      socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n');
    });
    const socket = connect(host.port, '127.0.0.1');
    socket.write(HANDSHAKE);
    expect(await text(socket)).to.match(/^HTTP\/1\.1 101/);
    expect(host.seen()).to.equal(1);
    expect(await host.urls()).to.deep.equal(['/']);
  });

  it('that nobody takes are requests as any other', async () => {
    const socket = connect(host.port, '127.0.0.1');
    socket.write(HANDSHAKE.replace('Upgrade\r\n', 'Upgrade, close\r\n'));
    expect(await text(socket)).to.match(/^HTTP\/1\.1 200 OK/);
    expect(await host.urls()).to.include('/room');
  });

  it('are no requests that only say HTTP/2.0: those are recorded', async () => {
    const socket = connect(host.port, '127.0.0.1');
    socket.write('GET /room HTTP/2.0\r\nhost: shop.test\r\nconnection: close\r\n\r\n');
    expect(await text(socket))
      .to.match(/^HTTP\/1\.1 200 OK/)
      .and.include('X-Debug-Token'.toLowerCase());
    expect(await host.urls()).to.include('/room');
  });
});
