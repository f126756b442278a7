/** Start and end of the service's server: the database is loaded after the first response, and no request is lost at close. */
import type { Server, ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { createOpenList } from '../profiler/record/open-list.ts';

const ACCEPT_WITHIN = 1500;
const IDLE_TURNS = 2;
/** Milliseconds after which the other workers have closed the port, too. */
const OTHERS_CLOSE = 250;
/** Milliseconds in which requests are still accepted on connections that are open at close. */
const LAST_REQUESTS = 250;
/** Milliseconds in which a client that is owed a part of a response has to take some of it; less while the service ends. */
const READ_WITHIN = 60_000;
const READ_WITHIN_AT_END = 3000;
const LOOK_EVERY = 15_000;
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

/** Resolves once no response is open: connections that were upgraded may stay. */
async function lastResponse(open: { readonly size: number }): Promise<void> {
  await sleep(2 * LAST_REQUESTS, undefined, { ref: false });
  while (open.size > 0) await sleep(LAST_REQUESTS, undefined, { ref: false });
}

export interface DrainOptions {
  /** Other workers listen on the port, and end now too. */
  isShared: boolean;
  readWithin?: number;
  lookEvery?: number;
}

/** Closes the server; running requests have `withinMs` to end. */
export type Drain = (withinMs: number) => Promise<void>;

/**
 * Returns the function that closes a server. Once the port is closed, each running response gets `connection: close`, so that its
 * client opens a new connection. Idle connections are not closed at once: a request may be on its way already, and would
 * be reset.
 */
export function createDrain(
  server: Server,
  { isShared, readWithin = READ_WITHIN, lookEvery = LOOK_EVERY }: DrainOptions,
): Drain {
  const open = createOpenList<ServerResponse>();
  const slow = new WeakSet<ServerResponse>();
  let draining = false;

  /** Node.js bounds how long a client may send, not how long it may take to read. A timeout of a socket knows of partial writes. */
  function endUnread(within: number): void {
    for (const res of open) {
      const { socket } = res;
      if (socket === null || socket.writableLength === 0 || (slow.has(res) && !draining)) continue;
      slow.add(res);
      res.setTimeout(within, () => {
        if (socket.writableLength > 0) socket.destroy();
      });
    }
  }

  const look = setInterval(() => {
    endUnread(readWithin);
  }, lookEvery).unref();
  server.once('close', () => {
    clearInterval(look);
  });
  server.prependListener('request', (_req, res: ServerResponse) => {
    open.add(res);
    if (draining) res.setHeader('connection', 'close');
    res.once('close', () => {
      open.delete(res);
    });
  });
  return async (withinMs) => {
    const deadline = performance.now() + withinMs;
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
      endUnread(READ_WITHIN_AT_END);
    }, LAST_REQUESTS);
    const left = Math.max(LAST_REQUESTS, deadline - performance.now());
    const timeout = setTimeout(() => {
      server.closeAllConnections();
    }, left);
    // An upgraded connection is not HTTP any more: only its two ends, or the end of the process, close it.
    await Promise.race([closed, lastResponse(open), sleep(left + LAST_REQUESTS, undefined, { ref: false })]);
    clearInterval(lastRequests);
    clearTimeout(timeout);
    clearInterval(look);
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
