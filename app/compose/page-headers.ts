/** Security headers of the profiler's pages: helmet's whole set, with the strictest policy that they work under. */
import helmet from 'helmet';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { PAGE_POLICY } from '../middleware/own-headers.ts';

/** Name and value of each. HSTS and upgrade-insecure-requests are left out: only the owner may send them for a domain. */
export function pageHeaders(): readonly (readonly [name: string, value: string])[] {
  const secure = helmet({
    contentSecurityPolicy: { useDefaults: false, directives: PAGE_POLICY },
    frameguard: { action: 'deny' },
    // Without Sec-Fetch-Site (plain HTTP) we tell a foreign form by its Origin, which no-referrer would hide.
    referrerPolicy: { policy: 'same-origin' },
    strictTransportSecurity: false,
  });
  // They are the same for every request: read once, from a response that is never sent.
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  secure(request, response, () => undefined);
  return response.getHeaderNames().map((name) => [name, String(response.getHeader(name))]);
}
