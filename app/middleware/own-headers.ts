/**
 * Security headers of error pages and redirects; the profiler's pages have more (compose/page-headers.ts). Everything is loaded
 * from here, nothing is framed or readable across origins. HSTS and upgrade-insecure-requests are the owner's to send.
 */
import type { ServerResponse } from 'node:http';

/** Directive -> sources: what a page may load and do. */
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

/** Name and value of each. `bare`: the page loads nothing. */
export function ownHeaders({ bare = false }: { bare?: boolean } = {}): readonly (readonly [
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

export function setOwnHeaders(res: ServerResponse, options: { bare?: boolean } = {}): void {
  for (const [name, value] of ownHeaders(options)) res.setHeader(name, value);
}
