/**
 * Outgoing calls -> facts `call`. A call is on the channels of one client: undici, node:http or node:http2. Little is patched: an agent and
 * node:http2 where Node.js publishes less (channels/node-http.ts), `dispatch` of undici (channels/undici.ts), bodies (call-bodies.ts). A
 * call belongs to the context that is current when it is made; its later events may fire in any.
 */
import type { Socket } from 'node:net';
import { closing } from '../subscribe.ts';
import { createHttpCalls, type HttpClientParts } from './http-calls.ts';
import { observeHttp2 } from './http2-calls.ts';
import { observeNodeHttp } from './node-http-calls.ts';
import { observeUndici } from './undici-calls.ts';

export function observeHttpClient(parts: HttpClientParts): { close(): void } {
  const http = createHttpCalls(parts);
  // Plain sockets; TLS sockets are not published here.
  http.on('net.client.socket', ({ socket }: { socket: Socket }) => {
    if (parts.tracker.current() !== undefined) http.times.watch(socket);
  });
  observeUndici(http);
  observeNodeHttp(http);
  observeHttp2(http);
  return closing(http.undo);
}
