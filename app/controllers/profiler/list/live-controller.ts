/** `/_profiler/live`: server-sent events with the requests that are new in a list with these filters. */
import type { IncomingMessage } from 'node:http';
import type { Server } from 'node:net';
import type { PageAction, PageServices } from '../page-services.ts';
import { createRespond } from '../respond.ts';
import { readFilters } from './filters.ts';

const NO_CONTENT = 204;
/** Bytes; a client that leaves more unread is disconnected. */
const MOST_UNREAD = 64 * 1024;

function isClosing({ socket }: IncomingMessage): boolean {
  const { server } = socket as typeof socket & { server?: Server };
  return server?.listening === false;
}

export function createLiveController(services: PageServices): { live: PageAction } {
  const { live, securityHeaders } = services;
  const respond = createRespond(services);

  return {
    live(page) {
      const { req, res } = page;
      const { query } = readFilters(page.query);
      const send = (text: string): void => {
        if (res.writableLength > MOST_UNREAD) res.destroy();
        else res.write(`${text}\n\n`);
      };
      const isEnding = isClosing(req) || req.method === 'HEAD';
      const listener = {
        query,
        tell: (message: object | null) => {
          send(message === null ? ':' : `data: ${JSON.stringify(message)}`);
        },
        isLeaving: () => isClosing(req),
        end: () => res.end(),
      };
      // If the server is closing, the stream would end before its headers are sent.
      const leave = isEnding ? null : live.listen(listener);
      // After a 204 an EventSource does not reconnect.
      if (leave === null) {
        respond(page, { status: NO_CONTENT, type: 'text/event-stream', body: '' });
        return;
      }
      res.on('close', leave);
      for (const [name, value] of securityHeaders()) res.setHeader(name, value);
      res.setHeader('content-type', 'text/event-stream');
      res.setHeader('cache-control', 'no-cache, no-transform, private');
      res.setHeader('x-accel-buffering', 'no');
      res.writeHead(200);
      res.write('retry: 2000\n\n');
    },
  };
}
