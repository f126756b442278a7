/** Whether a state change comes from a page of the same origin. */
import type { IncomingMessage } from 'node:http';

/** By Sec-Fetch-Site; without it (plain HTTP, older browsers), by Origin. */
export function isSameOrigin({ headers }: IncomingMessage, origin: string | null): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  return origin !== null && headers.origin === origin;
}
