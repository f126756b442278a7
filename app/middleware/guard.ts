/** Who may open the profiler's pages: by HTTP Basic password (RFC 7617), or by the host's own rule. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { createError } from '../errors.ts';
import { TOOLBAR_HEADER } from '../urls.ts';

export interface GuardOptions {
  password: string | null;
  /** The host's own rule, called if there is no password. */
  authorize?: ((req: IncomingMessage) => boolean | Promise<boolean>) | undefined;
}

/** Resolves for those who may; rejects with UNAUTHORIZED (401, with its challenge) or FORBIDDEN (403). */
export type Guard = (req: IncomingMessage) => Promise<void>;

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function passwordOf(header: string | undefined): string | null {
  const [, credentials] = /^Basic\s+([A-Za-z0-9+/=]+)$/i.exec(header ?? '') ?? [];
  if (credentials === undefined) return null;
  const pair = Buffer.from(credentials, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  return colon === -1 ? null : pair.slice(colon + 1);
}

/** No challenge for the toolbar: the browser would ask for the password over a page of the application. */
function challengeOf({ headers }: IncomingMessage): Record<string, string> {
  return headers[TOOLBAR_HEADER] === undefined
    ? { 'www-authenticate': 'Basic realm="Hindsight", charset="UTF-8"' }
    : {};
}

export function createGuard({ password, authorize }: GuardOptions): Guard {
  const wanted = password === null ? null : digest(password);
  return async (req) => {
    if (wanted !== null) {
      const given = passwordOf(req.headers.authorization);
      if (given !== null && timingSafeEqual(digest(given), wanted)) return;
      throw createError('UNAUTHORIZED', [], { headers: challengeOf(req) });
    }
    if (authorize !== undefined && !(await authorize(req))) throw createError('FORBIDDEN', []);
  };
}
