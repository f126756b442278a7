/** Keeps search engines away from every response: pages, errors, redirects, 304s. */
import type { RequestHandler } from 'express';

/** Also sent with responses that are written to the socket directly. */
export const ROBOTS_HEADER = ['x-robots-tag', 'noindex'] as const;

export function createRobots(): RequestHandler {
  const [name, value] = ROBOTS_HEADER;
  return function robots(_req, res, next) {
    res.setHeader(name, value);
    next();
  };
}
