/**
 * Security headers of the profiler's pages: helmet's whole set, written down so that a host need not install it (a test compares the
 * two). HSTS and upgrade-insecure-requests are left out: only the owner may send them for a domain.
 */
import { ISOLATING_HEADERS, securityHeaders } from '../middleware/security-headers.ts';

/** Name and value of each. */
export function pageHeaders(): readonly (readonly [name: string, value: string])[] {
  // Without Sec-Fetch-Site (plain HTTP) we recognise a foreign form by its Origin, which no-referrer would hide.
  const own = securityHeaders().map(
    ([name, value]) => [name, name === 'referrer-policy' ? 'same-origin' : value] as const,
  );
  return [...own, ...ISOLATING_HEADERS];
}
