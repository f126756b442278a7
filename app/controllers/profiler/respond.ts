/** Responses of the profiler's pages: compressed here, and `res.end` with a Content-Length, so that nothing in the host rewrites them. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { markup } from '../../view-helpers/safe-html.ts';
import type { PageAction, PageRequest, PageServices } from './page-services.ts';
import { gzip } from 'node:zlib';
import type { Profile } from '../../profiler/profile.ts';

/** Bytes; what is smaller fits in one packet anyway. */
const SMALLEST = 1024;
const REFUSED = /^q=0(?:\.0*)?$/;

/** RFC 9110, 12.5.3; `*` is not taken for a wish. */
function takesGzip(header: string | undefined): boolean {
  return (header ?? '').split(',').some((item) => {
    const [coding, ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
    return coding === 'gzip' && !parameters.some((parameter) => REFUSED.test(parameter));
  });
}

/**
 * Whether a body of so many bytes is compressed for this request. Never for a page of another site: the length of a compressed page would
 * tell whoever can make a browser ask for it, and can read the length on the way, what stands on it (BREACH).
 */
export function isCompressedFor({ headers }: Pick<IncomingMessage, 'headers'>, bytes: number): boolean {
  return (
    bytes >= SMALLEST &&
    headers['sec-fetch-site'] !== 'cross-site' &&
    takesGzip(headers['accept-encoding']?.toString())
  );
}

export function addVary(res: ServerResponse, name: string): void {
  const given = res.getHeader('vary');
  const names = (Array.isArray(given) ? given.join(', ') : String(given ?? ''))
    .split(',')
    .map((one) => one.trim().toLowerCase())
    .filter((one) => one !== '');
  if (!names.includes(name) && !names.includes('*')) res.setHeader('vary', [...names, name].join(', '));
}

const UNCACHED = 'no-cache, private';

export interface PageResponse {
  status?: number;
  type: string;
  body: string | Buffer;
  cacheControl?: string;
  etag?: string;
  headers?: Readonly<Record<string, string>>;
}

export interface Exchange {
  req: IncomingMessage;
  res: ServerResponse;
}

export type Respond = (page: Exchange, response: PageResponse) => void;

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
    // In zlib's threads, so that the host's requests don't wait.
    gzip(body, (error, compressed) => {
      // The host may have ended it meanwhile, as at a timeout.
      if (res.headersSent) return;
      if (error === null) res.setHeader('content-encoding', 'gzip');
      send(error === null ? compressed : body);
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

export function createAnswers(services: Pick<PageServices, 'securityHeaders' | 'renderPage' | 'foot'>) {
  const { renderPage, foot } = services;
  const respond = createRespond(services);
  function json(page: Exchange, value: object): void {
    respond(page, { type: JSON_TYPE, body: JSON.stringify(value) });
  }
  function markdown(page: Exchange, body: string): void {
    respond(page, { type: MARKDOWN_TYPE, body });
  }
  return {
    respond,
    json,
    markdown,
    async html(page: Exchange, view: string, model: object, status = 200): Promise<void> {
      respond(page, { status, type: HTML, body: await renderPage.inTurns(view, { foot, ...model }) });
    },
    redirect(page: Exchange, location: string, status?: number): void {
      redirect(respond, page, location, status);
    },
    inForms: <T>(
      read: (page: PageRequest) => Promise<T>,
      write: {
        page: (page: PageRequest, shown: T) => void | Promise<void>;
        json: (shown: T) => object;
        markdown: (shown: T) => string | Promise<string>;
      },
    ): Forms => ({
      page: async (page) => write.page(page, await read(page)),
      json: async (page) => json(page, write.json(await read(page))),
      markdown: async (page) => markdown(page, await write.markdown(await read(page))),
    }),
  };
}

/**
 * One address, three forms, as `Accept` says (RFC 9110, 12.5.1). Only a form that is named there replaces the page: wildcards, as most clients
 * send them, ask for the page.
 */
export type Form = 'page' | 'json' | 'markdown';

const TYPES: readonly (readonly [form: Form, types: readonly string[]])[] = [
  ['page', ['text/html', 'application/xhtml+xml']],
  ['json', ['application/json']],
  ['markdown', ['text/markdown']],
];

/** Quality by media type; a type that is not named is absent. */
function qualitiesOf(accept: string): ReadonlyMap<string, number> {
  const qualities = new Map<string, number>();
  for (const part of accept.toLowerCase().split(',')) {
    const [type = '', ...parameters] = part.split(';').map((text) => text.trim());
    const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    qualities.set(type, quality === undefined ? 1 : Number(quality) || 0);
  }
  return qualities;
}

export function preferredForm(accept: string | undefined): Form {
  if (accept === undefined) return 'page';
  const qualities = qualitiesOf(accept);
  let best: Form = 'page';
  let most = 0;
  for (const [form, types] of TYPES) {
    const quality = Math.max(0, ...types.map((type) => qualities.get(type) ?? 0));
    if (quality > most) [best, most] = [form, quality];
  }
  return best;
}

export type Forms = Readonly<Record<Form, PageAction>>;

export function byAccept(actions: Forms): PageAction {
  return (page) => {
    addVary(page.res, 'accept');
    return actions[preferredForm(page.req.headers.accept)](page);
  };
}

/** A member that is added leaves the version as it is; one that is removed, renamed or changes its meaning raises it (docs/guides/agents.md). */
const VERSIONS = { list: 1, profile: 1, panel: 1, routes: 1, comparison: 1, health: 1 } as const;

export function jsonForm(form: keyof typeof VERSIONS, members: object): object {
  return { form, version: VERSIONS[form], ...members };
}

const LONGEST_PATH = 60;

export function attachment({ method, url, token }: Profile, ending: string): Record<string, string> {
  const path = url.replace(/[?#].*$/s, '').replace(/[^A-Za-z0-9_]+/g, '-');
  const words = [method, path.slice(0, LONGEST_PATH)].map((word) =>
    word.replace(/[^A-Za-z0-9_-]/g, '').replace(/^-+|-+$/g, ''),
  );
  const name = [...words.filter((word) => word !== ''), token].join('-');
  return { 'content-disposition': `attachment; filename="${name}.${ending}"` };
}
