/**
 * CORS (Fetch, 3.2) for the few addresses that the toolbar needs, granted to the configured front ends only. It allows
 * credentials, because the service may have a password, and a configured origin is trusted like the service's own pages.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { TOOLBAR_HEADER } from '../../urls.ts';
import { addVary } from './vary.ts';

/** Response headers that scripts of another origin may read. */
const EXPOSED = 'x-debug-token, x-debug-token-link';
/** Seconds for which browsers cache a preflight. */
const PREFLIGHT_FOR = '600';

/** Lets a front end read the response, errors included; false for any other origin. */
export function grantFrontEnd(
  frontEnds: ReadonlySet<string>,
  { headers }: IncomingMessage,
  res: ServerResponse,
): boolean {
  if (frontEnds.size === 0) return false;
  addVary(res, 'origin');
  const { origin } = headers;
  if (origin === undefined || !frontEnds.has(origin)) return false;
  res.setHeader('access-control-allow-origin', origin);
  res.setHeader('access-control-allow-credentials', 'true');
  res.setHeader('access-control-expose-headers', EXPOSED);
  return true;
}

export function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

/** `methods`: `GET, HEAD`. */
export function answerPreflight(res: ServerResponse, methods: string): void {
  res.statusCode = 204;
  res.setHeader('access-control-allow-methods', methods);
  res.setHeader('access-control-allow-headers', `${TOOLBAR_HEADER}, content-type`);
  res.setHeader('access-control-max-age', PREFLIGHT_FOR);
  res.end();
}
