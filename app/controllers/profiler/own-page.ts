/** Whether a page of ours asks for something that changes state: there is no cookie, so what a foreign page can't hide is where it is. */
import type { IncomingMessage } from 'node:http';

/** Sec-Fetch-Site where the browser sends it; elsewhere (plain HTTP, older browsers) the Origin of the asking page. */
export function isOwnPage({ headers }: IncomingMessage, origin: string | null): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  return origin !== null && headers.origin === origin;
}
