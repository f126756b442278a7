/** How the profiler's pages answer: `res.end` with a length of its own, so that nothing of the host rewrites them. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { markup } from '../../view-helpers/safe-html.ts';
import type { PageServices } from './page-services.ts';

/** Every page shows what is true now; assets have an address per content instead. */
const UNCACHED = 'no-cache, private';

export interface Answer {
  status?: number;
  type: string;
  body: string | Buffer;
  cacheControl?: string;
  /** Quoted; a request that has it already gets 304. */
  etag?: string;
  headers?: Readonly<Record<string, string>>;
}

/** Both sides of the request that is answered. */
export interface Exchange {
  req: IncomingMessage;
  res: ServerResponse;
}

export type Respond = (page: Exchange, answer: Answer) => void;

/** RFC 9110, 13.1.2: a list of tags, weak or not, or `*`. */
function hasTag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(',').some((tag) => {
    const plain = tag.trim().replace(/^W\//, '');
    return plain === '*' || plain === etag;
  });
}

export function createRespond({ ownHeaders }: Pick<PageServices, 'ownHeaders'>): Respond {
  return ({ req, res }, { status = 200, type, body, cacheControl = UNCACHED, etag, headers = {} }) => {
    for (const [name, value] of ownHeaders()) res.setHeader(name, value);
    res.setHeader('cache-control', cacheControl);
    for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
    if (etag !== undefined) {
      res.setHeader('etag', etag);
      if (hasTag(req.headers['if-none-match'], etag)) {
        res.statusCode = 304;
        res.end();
        return;
      }
    }
    res.statusCode = status;
    res.setHeader('content-type', type);
    res.setHeader('content-length', Buffer.byteLength(body));
    // A text goes out in one piece with its head, without a copy of its own.
    res.end(req.method === 'HEAD' ? undefined : body);
  };
}

export const HTML = 'text/html; charset=UTF-8';
export const JSON_TYPE = 'application/json; charset=utf-8';
export const MARKDOWN_TYPE = 'text/markdown; charset=UTF-8';

export function redirect(respond: Respond, page: Exchange, location: string, status = 302): void {
  const body = markup`<!doctype html><html lang="en"><title>Redirecting</title><p>Redirecting to <a href="${location}">${location}</a>.</p></html>\n`;
  respond(page, { status, type: HTML, body: body.toString(), headers: { location } });
}
