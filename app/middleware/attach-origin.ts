/**
 * Resolves the origin of a request once and attaches it, for links, redirects, logs and the recorder. Sends x-request-id back, and
 * makes Express's `req.ip`, `req.protocol` and `req.hostname` return the same.
 */
import type { IncomingMessage } from 'node:http';
import type { Express, RequestHandler } from 'express';
import { connectionOf, hostErrorOf } from './connection.ts';
import type { OriginResolver, ResolvedOrigin } from './origin.ts';

const ORIGIN = Symbol('hindsight.origin');

interface WithOrigin extends IncomingMessage {
  [ORIGIN]?: ResolvedOrigin;
}

export function originOf(req: IncomingMessage): ResolvedOrigin | undefined {
  return (req as WithOrigin)[ORIGIN];
}

export function attachOrigin(req: IncomingMessage, resolver: OriginResolver): ResolvedOrigin {
  const before = originOf(req);
  if (before !== undefined) return before;
  const { rawHeaders, httpVersion, socket } = req;
  const resolved = resolver.resolve({ ...connectionOf(socket), rawHeaders, httpVersion });
  Object.defineProperty(req, ORIGIN, { value: resolved });
  return resolved;
}

export function createOriginMiddleware(resolver: OriginResolver): RequestHandler {
  return function requestOrigin(req, res, next) {
    res.setHeader('x-request-id', attachOrigin(req, resolver).requestId);
    next();
  };
}

export function createHostCheck(): RequestHandler {
  return function hostCheck(req, _res, next) {
    const refused = originOf(req)?.refusedHost ?? null;
    if (refused === null) next();
    else next(hostErrorOf(refused));
  };
}

/** Express reads the proxy's headers by rules of its own (any word is a protocol): use ours for both. */
export function alignExpress(app: Express, resolver: OriginResolver): void {
  app.set('trust proxy', (address: string | undefined) => resolver.trusts(address ?? ''));
  const answers: Record<string, (resolved: ResolvedOrigin) => unknown> = {
    ip: ({ origin }) => origin.clientAddress,
    ips: ({ origin }) => origin.chain.slice(0, -1),
    protocol: ({ origin }) => origin.scheme,
    hostname: ({ origin }) => origin.host ?? undefined,
    host: ({ origin }) => origin.origin?.slice(`${origin.scheme}://`.length),
  };
  for (const [name, answer] of Object.entries(answers)) {
    Object.defineProperty(app.request, name, {
      configurable: true,
      enumerable: true,
      get(this: IncomingMessage) {
        return answer(attachOrigin(this, resolver));
      },
    });
  }
}
