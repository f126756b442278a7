/** 404 and 405 below the profiler's prefix, worded as in the rest of the service. */
import type { IncomingMessage } from 'node:http';
import { createError, createRouteNotFound, type HindsightError } from '../../../errors.ts';

/** The path as sent, without the query; for an absolute-form target, the part after the authority. */
export function splitTarget(target: string): { path: string; query: string } {
  const local = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, '');
  const at = local.indexOf('?');
  return at === -1 ? { path: local, query: '' } : { path: local.slice(0, at), query: local.slice(at) };
}

export function createPageNotFound(
  req: IncomingMessage,
  redactText: (text: string) => string,
): HindsightError {
  const { path } = splitTarget(req.url ?? '');
  return createRouteNotFound({
    method: req.method ?? '',
    path,
    second: path.endsWith('/') ? path.slice(0, -1) : `${path}/`,
    referer: redactText(req.headers.referer ?? ''),
  });
}

export function createMethodNotAllowed(req: IncomingMessage, allow: string): HindsightError {
  const { path } = splitTarget(req.url ?? '');
  return createError('METHOD_NOT_ALLOWED', [req.method ?? '', path, allow], { headers: { Allow: allow } });
}
