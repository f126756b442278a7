/**
 * Security headers of error pages and redirects; the profiler's pages, errors included, have more. Everything is loaded
 * from here, nothing is framed or readable across origins. HSTS and upgrade-insecure-requests are the owner's to send.
 */
import type { ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';

export const PAGE_POLICY = {
  'default-src': ["'none'"],
  'style-src': ["'self'"],
  'script-src': ["'self'"],
  'img-src': ["'self'"],
  'connect-src': ["'self'"],
  'form-action': ["'self'"],
  'base-uri': ["'none'"],
  'frame-ancestors': ["'none'"],
};
const POLICY = Object.entries(PAGE_POLICY)
  .map(([directive, sources]) => `${directive} ${sources.join(' ')}`)
  .join('; ');
/** For text-only pages: debug off, fallbacks, redirects. */
const BARE_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Below `/_profiler`, too: else another site could tell a token that exists from one that doesn't by a `fetch` in the mode no-cors. */
export const ISOLATING_HEADERS = [
  ['cross-origin-opener-policy', 'same-origin'],
  ['cross-origin-resource-policy', 'same-origin'],
  ['origin-agent-cluster', '?1'],
  ['x-dns-prefetch-control', 'off'],
  ['x-download-options', 'noopen'],
  ['x-permitted-cross-domain-policies', 'none'],
  ['x-xss-protection', '0'],
] as const;

/** Keeps search engines away from every response: pages, errors, redirects, 304s. */
export const ROBOTS_HEADER = ['x-robots-tag', 'noindex'] as const;

export function createRobots(): RequestHandler {
  return function robots(_req, res, next) {
    res.setHeader(...ROBOTS_HEADER);
    next();
  };
}

export function securityHeaders({ bare = false }: { bare?: boolean } = {}): readonly (readonly [
  string,
  string,
])[] {
  return [
    ['content-security-policy', bare ? BARE_POLICY : POLICY],
    ['x-content-type-options', 'nosniff'],
    ['x-frame-options', 'DENY'],
    ['referrer-policy', 'no-referrer'],
  ];
}

export function setSecurityHeaders(res: ServerResponse, options: { bare?: boolean } = {}): void {
  for (const [name, value] of securityHeaders(options)) res.setHeader(name, value);
}

/**
 * Those of the profiler's pages: helmet's whole set, written down so that a host need not install it (a test compares the two). HSTS and
 * upgrade-insecure-requests are left out: only the owner may send them for a domain.
 */
export function pageHeaders(): readonly (readonly [name: string, value: string])[] {
  // Without Sec-Fetch-Site (plain HTTP) we recognise a foreign form by its Origin, which no-referrer would hide.
  const own = securityHeaders().map(
    ([name, value]) => [name, name === 'referrer-policy' ? 'same-origin' : value] as const,
  );
  return [...own, ...ISOLATING_HEADERS];
}
