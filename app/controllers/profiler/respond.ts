/** Responses of the profiler's pages: compressed here, and `res.end` with a Content-Length, so that nothing in the host rewrites them. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { markup } from '../../view-helpers/safe-html.ts';
import { compress, isCompressedFor } from './compress.ts';
import type { Forms } from './by-accept.ts';
import type { PageRequest, PageServices } from './page-services.ts';
import { addVary } from './vary.ts';

/** Pages show the current state; assets have a content hash in their address instead. */
const UNCACHED = 'no-cache, private';

export interface PageResponse {
  status?: number;
  type: string;
  body: string | Buffer;
  cacheControl?: string;
  /** Quoted; a request with a matching If-None-Match gets a 304. */
  etag?: string;
  headers?: Readonly<Record<string, string>>;
}

export interface Exchange {
  req: IncomingMessage;
  res: ServerResponse;
}

export type Respond = (page: Exchange, response: PageResponse) => void;

/** RFC 9110, 13.1.2: a list of tags, weak or not, or `*`. */
function hasTag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(',').some((tag) => {
    const plain = tag.trim().replace(/^W\//, '');
    return plain === '*' || plain === etag;
  });
}

export function createRespond({ securityHeaders }: Pick<PageServices, 'securityHeaders'>): Respond {
  return ({ req, res }, { status = 200, type, body, cacheControl = UNCACHED, etag, headers = {} }) => {
    for (const [name, value] of securityHeaders()) res.setHeader(name, value);
    res.setHeader('cache-control', cacheControl);
    for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
    const isCompressed = isCompressedFor(req, Buffer.byteLength(body));
    addVary(res, 'accept-encoding');
    if (etag !== undefined) {
      // A strong one would promise the same bytes (RFC 9110, 8.8.3).
      res.setHeader('etag', isCompressed ? `W/${etag}` : etag);
      if (hasTag(req.headers['if-none-match'], etag)) {
        res.statusCode = 304;
        res.end();
        return;
      }
    }
    res.statusCode = status;
    res.setHeader('content-type', type);
    const send = (bytes: string | Buffer): void => {
      res.setHeader('content-length', Buffer.byteLength(bytes));
      // As a string, the body is written together with the headers, without a copy.
      res.end(req.method === 'HEAD' ? undefined : bytes);
    };
    if (!isCompressed) {
      send(body);
      return;
    }
    compress(body, (compressed) => {
      // The host may have ended it meanwhile, as at a timeout.
      if (res.headersSent) return;
      if (compressed !== null) res.setHeader('content-encoding', 'gzip');
      send(compressed ?? body);
    });
  };
}

export const HTML = 'text/html; charset=UTF-8';
export const JSON_TYPE = 'application/json; charset=utf-8';
const MARKDOWN_TYPE = 'text/markdown; charset=UTF-8';

export function redirect(respond: Respond, page: Exchange, location: string, status = 302): void {
  const body = markup`<!doctype html><html lang="en"><title>Redirecting</title><p>Redirecting to <a href="${location}">${location}</a>.</p></html>\n`;
  respond(page, { status, type: HTML, body: body.toString(), headers: { location } });
}

/** The responses of the controllers. */
export interface Answers {
  respond: Respond;
  /** A view with its model; each has the lines of the footer, too. */
  html(page: Exchange, view: string, model: object, status?: number): void;
  json(page: Exchange, value: object): void;
  markdown(page: Exchange, body: string): void;
  redirect(page: Exchange, location: string, status?: number): void;
  /** What an address shows is read once, whichever form is asked for. */
  inForms<T>(
    read: (page: PageRequest) => Promise<T>,
    write: {
      page: (page: PageRequest, shown: T) => void | Promise<void>;
      json: (shown: T) => object;
      markdown: (shown: T) => string | Promise<string>;
    },
  ): Forms;
}

export function createAnswers(
  services: Pick<PageServices, 'securityHeaders' | 'renderPage' | 'foot'>,
): Answers {
  const { renderPage, foot } = services;
  const respond = createRespond(services);
  return {
    respond,
    html(page, view, model, status = 200) {
      respond(page, { status, type: HTML, body: renderPage(view, { foot, ...model }) });
    },
    json(page, value) {
      respond(page, { type: JSON_TYPE, body: JSON.stringify(value) });
    },
    markdown(page, body) {
      respond(page, { type: MARKDOWN_TYPE, body });
    },
    redirect(page, location, status) {
      redirect(respond, page, location, status);
    },
    inForms: (read, { page: write, json, markdown }) => ({
      page: async (page) => write(page, await read(page)),
      json: async (page) => respond(page, { type: JSON_TYPE, body: JSON.stringify(json(await read(page))) }),
      markdown: async (page) =>
        respond(page, { type: MARKDOWN_TYPE, body: await markdown(await read(page)) }),
    }),
  };
}
