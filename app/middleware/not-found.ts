/**
 * The response if no route matched: 405 with Allow, a redirect to the spelling that exists, or 404. Decided by a dry match, so no
 * handler runs twice. The body is read first: limits apply to unknown paths, too.
 */
import type { Request, RequestHandler, Response } from 'express';
import { type HindsightError, createError, createRouteNotFound } from '../errors.ts';
import { originOf } from './attach-origin.ts';
import { readRest } from './body-tap.ts';
import { answers, type DryMatcher } from './dry-match.ts';
import { escapeHtml } from '../profiler/escape-html.ts';
import { lostThrowOf } from './request-target.ts';
import { setSecurityHeaders } from './security-headers.ts';
import { STATUS_CODES } from '../node-http.ts';

export interface NotFoundOptions {
  matcher: DryMatcher;
  redactText: (text: string) => string;
  idleMs?: number;
}

const IDLE_MS = 2000;

function sentPath(req: Request): string {
  return (req.url.split('?', 1)[0] ?? '') || '/';
}

function routedPath(req: Request): string | null {
  try {
    return req.path;
  } catch {
    return null;
  }
}

export function otherSpelling(path: string): string {
  return path.endsWith('/') ? path.replace(/\/+$/, '') || '/' : `${path}/`;
}

/** A browser reads `//host` and `/\host`, also encoded, as another host. */
function looksLikeHost(path: string): boolean {
  return /^\/(?:[/\\]|%2f|%5c)/i.test(path);
}

/** If the other spelling exists for GET: its absolute URL, query byte for byte; else null. */
function redirectTarget(req: Request, path: string, matcher: DryMatcher): string | null {
  const origin = originOf(req)?.origin.origin ?? null;
  if ((req.method !== 'GET' && req.method !== 'HEAD') || origin === null) return null;
  const query = req.url.slice(path.length);
  if (!req.url.startsWith(path) || (query !== '' && !query.startsWith('?')) || looksLikeHost(path))
    return null;
  const other = otherSpelling(path);
  if (other === path || !matcher.match(other).routes.some((route) => answers(route, req.method))) return null;
  return `${origin}${other}${query}`;
}

function sendRedirect(req: Request, res: Response, location: string): void {
  const url = escapeHtml(location);
  const page = `<!DOCTYPE html><html lang="en"><title>Redirecting to ${url}</title><p>Redirecting to <a href="${url}">${url}</a>.</p></html>\n`;
  const body = Buffer.from(page);
  res.statusCode = 301;
  res.statusMessage = STATUS_CODES[301] ?? '';
  setSecurityHeaders(res, { bare: true });
  res.setHeader('location', location);
  res.setHeader('cache-control', 'no-cache, private');
  res.setHeader('content-type', 'text/html; charset=UTF-8');
  res.setHeader('content-length', body.length);
  res.end(req.method === 'HEAD' ? undefined : body);
}

function methodNotAllowed(req: Request, allowed: readonly string[]): HindsightError {
  const allow = [...new Set(allowed)].join(', ');
  return createError('METHOD_NOT_ALLOWED', [req.method, sentPath(req), allow], { headers: { allow } });
}

function routeNotFound(req: Request, redactText: (text: string) => string): HindsightError {
  const path = sentPath(req);
  return createRouteNotFound({
    method: req.method,
    path,
    second: otherSpelling(path),
    referer: redactText(req.headers.referer ?? ''),
  });
}

export function createNotFound({ matcher, redactText, idleMs = IDLE_MS }: NotFoundOptions): RequestHandler {
  function decide(req: Request): { redirect: string } | { error: unknown } {
    const path = routedPath(req);
    const { routes, fault } = path === null ? { routes: [], fault: null } : matcher.match(path);
    if (routes.some((route) => answers(route, req.method))) return { error: routeNotFound(req, redactText) };
    if (routes.length > 0)
      return {
        error: methodNotAllowed(
          req,
          routes.flatMap(({ methods }) => methods),
        ),
      };
    if (fault !== null) return { error: fault };
    const redirect = path === null ? null : redirectTarget(req, path, matcher);
    return redirect === null ? { error: routeNotFound(req, redactText) } : { redirect };
  }

  return async function notFound(req, res, next) {
    await readRest(req, { idleMs });
    if (res.headersSent || res.destroyed) return;
    if (lostThrowOf(req) !== null) {
      // It can't be passed on as an error; the end of routeAllTargets responds to it.
      next();
      return;
    }
    const decision = decide(req);
    if ('redirect' in decision) sendRedirect(req, res, decision.redirect);
    else next(decision.error);
  };
}

/** Runs before the routers: their automatic response to OPTIONS would hide the 405 or 404. */
export function createOptionsRule(matcher: DryMatcher): RequestHandler {
  return function optionsRule(req, _res, next) {
    if (req.method === 'OPTIONS') matcher.silenceOptions();
    next();
  };
}
