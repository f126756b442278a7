/** Start and end of the service's server: the database is loaded after the first response, and no request is lost at close. */
import type { Server, ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { createOpenList } from '../profiler/open-list.ts';

/** Milliseconds in which connections are still accepted at close, while there are any. */
const ACCEPT_WITHIN = 1500;
/** Turns of the event loop without a connection after which none waits. */
const IDLE_TURNS = 2;
/** Milliseconds after which the other workers have closed the port, too. */
const OTHERS_CLOSE = 250;
/** Milliseconds in which requests are still accepted on connections that are open at close. */
const LAST_REQUESTS = 250;
/** Milliseconds that running requests get to end at close. */
const DRAIN = 3000;
/** Milliseconds after listening that the first request has before the database is loaded. */
const FIRST_RESPONSE_WITHIN = 100;

/** Node accepts one connection per turn of its event loop. If a busy server closed at once, waiting connections would be reset. */
async function acceptWaiting(server: Server): Promise<void> {
  const deadline = performance.now() + ACCEPT_WITHIN;
  let idle = 0;
  const accepted = (): void => void (idle = 0);
  server.on('connection', accepted);
  while (idle < IDLE_TURNS && performance.now() < deadline) {
    idle++;
    await setImmediate();
  }
  server.off('connection', accepted);
}

/**
 * Returns the function that closes a server. Once the port is closed, each running response gets `connection: close`, so that its
 * client opens a new connection. Idle connections are not closed at once: a request may be on its way already, and would
 * be reset. `isShared`: other workers listen on the port, and end now too.
 */
export function createDrain(server: Server, { isShared }: { isShared: boolean }): () => Promise<void> {
  const open = createOpenList<ServerResponse>();
  let draining = false;
  server.prependListener('request', (_req, res: ServerResponse) => {
    open.add(res);
    if (draining) res.setHeader('connection', 'close');
    res.once('close', () => {
      open.delete(res);
    });
  });
  return async () => {
    await acceptWaiting(server);
    const closed = new Promise<void>((resolve) => {
      // `close` of http.Server would end the idle connections too.
      NetServer.prototype.close.call(server, () => {
        resolve();
      });
    });
    if (isShared) await sleep(OTHERS_CLOSE);
    draining = true;
    for (const res of open) if (!res.headersSent) res.setHeader('connection', 'close');
    const lastRequests = setInterval(() => {
      server.close();
    }, LAST_REQUESTS);
    const timeout = setTimeout(() => {
      server.closeAllConnections();
    }, DRAIN);
    // An upgraded connection is not HTTP any more: only its two ends, or the end of the process, close it.
    await Promise.race([closed, sleep(DRAIN + LAST_REQUESTS, undefined, { ref: false })]);
    clearInterval(lastRequests);
    clearTimeout(timeout);
    server.close();
  };
}

/**
 * Resolves when a listening server has sent its first response, or got no request for a while: loading the database's modules
 * would delay requests that arrive while the process starts.
 */
export function firstResponse(server: Server): Promise<void> {
  if (!server.listening) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, FIRST_RESPONSE_WITHIN);
    server.once('request', (_req, res: ServerResponse) => {
      res.once('close', () => {
        clearTimeout(timer);
        resolve();
      });
    });
  });
}
