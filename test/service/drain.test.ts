/** How the service ends: what was asked before, or on its way, is answered. */
import { expect } from 'chai';
import { Agent, get, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { WebSocket, WebSocketServer } from 'ws';
import { type RunningShop, startShop } from '../support/shop.ts';

describe('the end of the service', () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let shop: RunningShop;

  before(async () => {
    shop = await startShop({ APP_ENV: 'prod' });
  });
  after(async () => {
    agent.destroy();
    await shop.close();
  });

  async function ask(path: string): Promise<{ status: number | undefined; connection: string | undefined }> {
    const [response] = (await once(get(`${shop.origin}${path}`, { agent }), 'response')) as [IncomingMessage];
    response.resume();
    await once(response, 'end');
    return { status: response.statusCode, connection: response.headers.connection };
  }

  it('answers a request that comes on an open connection just then, and closes it with the answer', async () => {
    expect(await ask('/login')).to.deep.equal({ status: 200, connection: 'keep-alive' });
    const closing = shop.service.close();
    expect((await ask('/login')).status).to.equal(200);
    expect(await ask('/login')).to.deep.equal({ status: 200, connection: 'close' });
    await closing;
  });

  it('does not wait for WebSockets that stay open', async () => {
    const own = await startShop({ APP_ENV: 'prod' });
    const sockets = new WebSocketServer({ server: own.service.server });
    const socket = new WebSocket(own.origin.replace('http', 'ws'));
    await once(socket, 'open');
    await own.close();
    expect(socket.readyState).to.equal(WebSocket.OPEN);
    sockets.close();
    socket.terminate();
  });
});
