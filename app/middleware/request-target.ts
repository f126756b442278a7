/**
 * Request targets that are not a path. The absolute form (`GET http://host/path`) is routed by its path (RFC 9112, section 3.2.2).
 * Express passes a target that it can't parse (`http://[`) to its final handler, past all middleware, so it is routed as `/` and
 * refused.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Express, RequestHandler } from 'express';
import { createError } from '../errors.ts';
import type { RespondWithError } from './cut-off.ts';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';

const CHANNEL = 'tracing:express.router.request:end';
const LOST = Symbol('hindsight.lost-throw');

interface Marked extends IncomingMessage {
  [LOST]?: { thrown: unknown };
}

function isFalsyThrow(message: unknown): message is { req: Marked; error: unknown } {
  if (typeof message !== 'object' || message === null || !('error' in message) || !('req' in message))
    return false;
  return !message.error && typeof message.req === 'object';
}

/** Marks requests in which something falsy was thrown; returns the function that stops it. */
function watchLostThrows(): () => void {
  const listen = (message: unknown): void => {
    if (isFalsyThrow(message)) message.req[LOST] = { thrown: message.error };
  };
  subscribe(CHANNEL, listen);
  return () => {
    unsubscribe(CHANNEL, listen);
  };
}

/** The falsy value that a handler of this request threw; null if there is none. */
export function lostThrowOf(req: IncomingMessage): { thrown: unknown } | null {
  return (req as Marked)[LOST] ?? null;
}

const REFUSED = Symbol('hindsight.refused-target');

interface Target extends IncomingMessage {
  originalUrl?: string;
  [REFUSED]?: string;
}

interface Handles {
  handle: (req: IncomingMessage, res: ServerResponse, done?: unknown) => unknown;
}

/** `http://host/path?query` -> `/path?query`; null if it can't be parsed. Other forms are returned unchanged. */
export function pathOfTarget(target: string): string | null {
  const scheme = /^[a-z][a-z0-9+.-]*:\/\//i.exec(target);
  if (target.startsWith('/') || target === '*' || scheme === null) return target;
  if (!URL.canParse(target)) return null;
  const rest = target.slice(scheme[0].length);
  const start = rest.search(/[/?#]/);
  const path = start === -1 ? '' : rest.slice(start);
  return path.startsWith('/') ? path : `/${path}`;
}

function prepare(req: Target): void {
  const target = req.url ?? '/';
  if (target.startsWith('/')) return;
  const path = pathOfTarget(target);
  if (path === target) return;
  req.originalUrl = target;
  req.url = path ?? '/';
  if (path === null) req[REFUSED] = target;
}

/**
 * Gives every request of the application a target that Express can route, and responds with `respond` to what passes all its
 * middleware, such as a second `next(error)`: Express's own final handler would close the connection. Returns the function that
 * undoes it.
 */
export function routeAllTargets(application: Express, respond: RespondWithError): () => void {
  const app = application as unknown as Handles;
  const handle = app.handle.bind(app);
  const handleAny: Handles['handle'] = (req, res, done) => {
    prepare(req);
    const finish = (error?: unknown): void => {
      const { method = '', url = '' } = req;
      const lost = lostThrowOf(req);
      if (error !== undefined && error !== null) respond(error, req, res);
      else if (lost !== null) respond(lost.thrown, req, res);
      else if (!res.headersSent) respond(createError('ROUTE_NOT_FOUND', [method, url]), req, res);
    };
    return handle(req, res, done ?? finish);
  };
  app.handle = handleAny;
  return watchLostThrows();
}

export function createTargetCheck(): RequestHandler {
  return function targetCheck(req, _res, next) {
    const refused = (req as Target)[REFUSED];
    if (refused === undefined) next();
    else next(createError('BAD_REQUEST', [`Invalid request target "${refused}".`]));
  };
}
