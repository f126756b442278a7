/** How the service ends: what was asked before, or on its way, is answered. */
import { expect } from 'chai';
import { Agent, createServer, get, type IncomingMessage, type Server } from 'node:http';
import { EventEmitter, once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { createDrain } from '../../app/service/drain.ts';
import { until } from '../support/waiting.ts';
import { WebSocket, WebSocketServer } from 'ws';
import { type RunningShop, startShop } from '../support/shop.ts';

function connectionsOf(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.getConnections((_error, count) => {
      resolve(count);
    });
  });
}

describe('the end of the service', () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let shop: RunningShop;

  before(async () => {
    shop = await startShop({ APP_ENV: 'prod' });
  });
  after(async () => {
    agent.destroy();
    await shop?.close();
  });

  async function ask(path: string): Promise<{ status: number | undefined; connection: string | undefined }> {
    const [response] = (await once(get(`${shop.origin}${path}`, { agent }), 'response')) as [IncomingMessage];
    response.resume();
    await once(response, 'end');
    return { status: response.statusCode, connection: response.headers.connection };
  }

  it('answers a request that comes on an open connection just then, closes it with the answer, and waits for no WebSocket', async () => {
    const sockets = new WebSocketServer({ server: shop.service.server });
    const socket = new WebSocket(shop.origin.replace('http', 'ws'));
    await once(socket, 'open');
    expect(await ask('/login')).to.deep.equal({ status: 200, connection: 'keep-alive' });
    const closing = shop.service.close();
    expect((await ask('/login')).status).to.equal(200);
    expect(await ask('/login')).to.deep.equal({ status: 200, connection: 'close' });
    await closing;
    expect(socket.readyState).to.equal(WebSocket.OPEN);
    sockets.close();
    socket.terminate();
  });

  it('waits for what runs, as long as it is given, and not for a client that takes nothing', async () => {
    const server = createServer((req, res) => {
      if (req.url === '/large') res.end(Buffer.alloc(64 * 1024 * 1024));
      else void once(finishing, 'now').then(() => res.end('done'));
    });
    const finishing = new EventEmitter();
    const drain = createDrain(server, { isShared: false, readWithin: 1, lookEvery: 1 });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    // Below /large nothing reads; the interval before the end finds it.
    const unread = connect(port, '127.0.0.1').pause();
    unread.on('error', () => undefined);
    unread.write('GET /large HTTP/1.1\r\nhost: a\r\n\r\n');
    await until(async () => (await connectionsOf(server)) === 1, 'it is connected');
    await until(async () => (await connectionsOf(server)) === 0, 'it is ended');
    unread.destroy();

    const running = fetch(`http://127.0.0.1:${port}/slow`).then((response) => response.text());
    await until(() => finishing.listenerCount('now') === 1, 'the request runs');
    const drained = drain(60_000);
    await until(() => !server.listening, 'the port is closed');
    finishing.emit('now');
    expect(await running).to.equal('done');
    await drained;
  });
});
