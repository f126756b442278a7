/**
 * Front ends of other origins that may ask what the toolbar asks: the CORS grant (Fetch, 3.2) of the few addresses that it needs,
 * to the origins that were set up and to nobody else.
 *
 * With credentials: a service behind a password is asked with it, and an origin that is set up is trusted as our own pages are.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { TOOLBAR_HEADER } from '../../urls.ts';

/** What a script of another origin may read of our answers, and of the host's. */
const EXPOSED = 'x-debug-token, x-debug-token-link';
/** Seconds that a browser need not ask again. */
const PREFLIGHT_FOR = '600';

function addVary(res: ServerResponse): void {
  const given = res.getHeader('vary');
  const names = (Array.isArray(given) ? given.join(', ') : String(given ?? ''))
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '');
  if (!names.includes('origin') && !names.includes('*'))
    res.setHeader('vary', [...names, 'origin'].join(', '));
}

/** Grants a front end to read the answer; false where another origin asks, or none. Errors that follow keep it. */
export function grantFrontEnd(
  frontEnds: ReadonlySet<string>,
  { headers }: IncomingMessage,
  res: ServerResponse,
): boolean {
  if (frontEnds.size === 0) return false;
  addVary(res);
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

/** `methods` as they are written: `GET, HEAD`. */
export function answerPreflight(res: ServerResponse, methods: string): void {
  res.statusCode = 204;
  res.setHeader('access-control-allow-methods', methods);
  res.setHeader('access-control-allow-headers', `${TOOLBAR_HEADER}, content-type`);
  res.setHeader('access-control-max-age', PREFLIGHT_FOR);
  res.end();
}
