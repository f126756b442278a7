/** Servers of tests on a free port of the loopback. */
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * Milliseconds. With Node's 5 s, a test that keeps its own event loop busy for so long sends its next request on a connection that the
 * server closes meanwhile.
 */
export const KEEP_ALIVE_MS = 120_000;

/** Resolves once it listens. `handler` may be an Express application. */
export async function listen(
  handler: RequestListener | Server,
): Promise<{ server: Server; port: number; origin: string }> {
  const server = typeof handler === 'function' ? createServer(handler) : handler;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { server, port, origin: `http://127.0.0.1:${port}` };
}

/** Ends the server with its connections, then the profiler of its application. */
export async function close(server: Server, profiler?: { close(): Promise<unknown> }): Promise<void> {
  server.closeAllConnections();
  server.close();
  await profiler?.close();
}
