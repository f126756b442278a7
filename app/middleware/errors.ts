/**
 * The end of every failed request: any thrown value becomes one HTML page with one set of headers. An injected function renders it
 * as a child of its request; if that fails, a plain page is sent with the same status and headers. Written as bytes: `res.send`
 * would rewrite the type and add an ETag. No thrown value may hang the request or reach the process.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { announcedBytes } from './body-tap.ts';
import { defaultLingerLimits, lingerOnClose, type RespondWithError } from './cut-off.ts';
import { ISOLATING_HEADERS, ROBOTS_HEADER, setSecurityHeaders } from './security-headers.ts';
import { type ErrorResponse, responseOfError, shortPage } from './error-response.ts';
import { isProfilerTarget } from '../urls.ts';
import { STATUS_CODES } from '../node-http.ts';

export interface ErrorPageChild {
  token: string;
  render<T>(work: () => T): T;
  finish(page: { status: number; statusText: string; bodyBytes: number | null }): void;
}

export interface ErrorRecorder {
  openChild(req: IncomingMessage): ErrorPageChild | null;
  recordError(req: IncomingMessage, error: unknown, status: number | null): void;
  isSummary(req: IncomingMessage): boolean;
}

export interface ErrorPage {
  req: IncomingMessage;
  error: unknown;
  status: number;
  statusText: string;
}

export interface ErrorResponderOptions {
  maySee: (req: IncomingMessage) => boolean | Promise<boolean>;
  renderError: (page: ErrorPage) => string;
  recorder?: ErrorRecorder | undefined;
  redactText?: ((text: string) => string) | undefined;
  log?: ((error: unknown, req: IncomingMessage) => void) | undefined;
}

interface Shown {
  /** `summary`: only a summary of the request is recorded. */
  show: 'all' | 'summary' | 'nothing';
  link: string | null;
}

/** Headers that the handler set for a body which is not sent, or for caching it. */
const DROPPED =
  /^(?:content-.*|etag|last-modified|accept-ranges|expires|cache-control|set-cookie|transfer-encoding|trailer|x-powered-by|x-previous-debug-token)$/;

export function statusTextOf(status: number): string {
  return STATUS_CODES[status] ?? 'Error';
}

function setHeaders(
  res: ServerResponse,
  thrown: ErrorResponse,
  options: { bodyBytes: number; child: string | null; bare: boolean; isProfilerPage: boolean },
): void {
  for (const name of res.getHeaderNames()) {
    if (DROPPED.test(name)) res.removeHeader(name);
  }
  for (const [name, value] of thrown.headers) res.setHeader(name, value);
  res.statusCode = thrown.status;
  res.statusMessage = statusTextOf(thrown.status);
  res.sendDate = true;
  setSecurityHeaders(res, { bare: options.bare });
  if (options.isProfilerPage) for (const [name, value] of ISOLATING_HEADERS) res.setHeader(name, value);
  res.setHeader('cache-control', 'no-cache, private');
  res.setHeader('content-type', 'text/html; charset=UTF-8');
  res.setHeader('content-length', options.bodyBytes);
  res.setHeader(...ROBOTS_HEADER);
  if (options.child !== null) res.setHeader('x-previous-debug-token', options.child);
}

/** A response queued behind another has no socket yet, a request whose stream was destroyed no longer has one. */
function socketOf(req: IncomingMessage, res: ServerResponse): Socket | null {
  return res.socket ?? req.socket;
}

function linkOf(res: ServerResponse): string | null {
  const link = res.getHeader('x-debug-token-link');
  return typeof link === 'string' ? link : null;
}

function isGone(req: IncomingMessage): boolean {
  const { socket } = req as { socket?: Socket | null };
  return socket?.destroyed === true;
}

export function createErrorResponder(options: ErrorResponderOptions): RespondWithError {
  const { maySee, renderError, recorder, log, redactText = (text: string) => text } = options;
  const answered = new WeakMap<ServerResponse, unknown>();

  /** Our own failure is logged, and must not prevent the response. */
  function guard<T>(req: IncomingMessage, fallback: T, work: () => T): T {
    try {
      return work();
    } catch (failure) {
      try {
        log?.(failure, req);
      } catch {
        // Nowhere left to report it.
      }
      return fallback;
    }
  }

  function renderPage(
    page: ErrorPage,
    { thrown, child, show, link }: Shown & { thrown: ErrorResponse; child: ErrorPageChild | null },
  ): { html: string; bare: boolean } {
    const { status } = thrown;
    const plain = (): { html: string; bare: boolean } => {
      const message = guard(page.req, '', () => redactText(thrown.message));
      const showMessage = show !== 'nothing' || (status < 500 && thrown.expose);
      const html = shortPage({ status, message }, { showMessage, link: show === 'summary' ? link : null });
      return { html, bare: true };
    };
    // The client is gone and the recording closed: nobody will read the page.
    const isOver = child === null && recorder !== undefined && isGone(page.req);
    if (show !== 'all' || isOver) return plain();
    const html = guard(page.req, null, () => {
      const work = (): string => renderError(page);
      return child === null ? work() : child.render(work);
    });
    return typeof html === 'string' ? { html, bare: false } : plain();
  }

  /** Closing the connection at once would reset a client that still sends, and it would lose the page. */
  function closeGently(req: IncomingMessage, res: ServerResponse): void {
    // Nothing can follow a body whose destroyed stream can't be read to its end.
    if (req.destroyed && !req.complete) res.setHeader('connection', 'close');
    const last = !res.shouldKeepAlive || res.getHeader('connection') === 'close';
    const socket = socketOf(req, res);
    if (socket === null || !last || req.complete || announcedBytes(req) === 0) return;
    lingerOnClose(socket, defaultLingerLimits);
  }

  function send(error: unknown, req: IncomingMessage, res: ServerResponse, show: Shown['show']): void {
    answered.set(res, error);
    const thrown = responseOfError(error);
    guard(req, undefined, () => recorder?.recordError(req, error, thrown.status));
    if (thrown.status >= 500) guard(req, undefined, () => log?.(error, req));
    const child = guard(req, null, () => recorder?.openChild(req) ?? null);
    const page = { req, error, status: thrown.status, statusText: statusTextOf(thrown.status) };
    const { html, bare } = renderPage(page, { thrown, child, show, link: linkOf(res) });
    const body = Buffer.from(html);
    guard(req, undefined, () => child?.finish({ ...page, bodyBytes: bare ? null : body.length }));
    closeGently(req, res);
    const isProfilerPage = isProfilerTarget(req.url ?? '');
    setHeaders(res, thrown, { bodyBytes: body.length, child: child?.token ?? null, bare, isProfilerPage });
    // A handler that still writes after it failed must not end the process.
    res.on('error', () => undefined);
    res.end(req.method === 'HEAD' ? undefined : body);
  }

  function respond(error: unknown, req: IncomingMessage, res: ServerResponse): void {
    const isShown = res.headersSent || guard(req, false, () => maySee(req));
    if (typeof isShown === 'boolean') respondNow(error, req, res, shownOf(req, isShown));
    else
      void isShown.then((settled) => {
        respondNow(error, req, res, shownOf(req, settled));
      });
  }

  function shownOf(req: IncomingMessage, isShown: boolean): Shown['show'] {
    if (!isShown) return 'nothing';
    return guard(req, false, () => recorder?.isSummary(req) ?? false) ? 'summary' : 'all';
  }

  function respondNow(error: unknown, req: IncomingMessage, res: ServerResponse, show: Shown['show']): void {
    if (!res.headersSent && !res.writableEnded) {
      try {
        send(error, req, res, show);
      } catch (failure) {
        guard(req, undefined, () => log?.(failure, req));
        socketOf(req, res)?.destroy();
      }
      return;
    }
    // Readers of a cut-off body pass on the error that it was cut off with.
    if (answered.get(res) !== error) {
      guard(req, undefined, () => recorder?.recordError(req, error, null));
      if (!res.writableEnded || responseOfError(error).status >= 500)
        guard(req, undefined, () => log?.(error, req));
    }
    // A complete response stays so; a truncated one must not look complete.
    if (!res.writableEnded) socketOf(req, res)?.destroy();
  }

  return respond;
}
