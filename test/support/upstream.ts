/** A service that the application under test calls, on a port of its own. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Registers hooks for the current `describe`; the answer is the service's origin, once the hooks have run. */
export function withUpstream(answer: (req: IncomingMessage, res: ServerResponse) => void): () => string {
  const server = createServer(answer);
  before(async () => {
    server.listen(0, '127.0.0.1');
    await new Promise((done) => server.once('listening', done));
  });
  after(async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
  return () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
