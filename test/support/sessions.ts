/** express-session, which has no types of its own. */
import { createRequire } from 'node:module';
import type { Request, RequestHandler } from 'express';

const session = createRequire(import.meta.url)('express-session') as (options: object) => RequestHandler;

export function sessions(options: object = { saveUninitialized: true }): RequestHandler {
  return session({ secret: 'test', resave: false, ...options });
}

export function sessionOf(req: Request): Record<string, unknown> {
  return (req as Request & { session: Record<string, unknown> }).session;
}
