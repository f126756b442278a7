/** Security headers of the profiler's pages, as helmet sets them: its whole set, with the strictest policy that they need. */
import helmet from 'helmet';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { PAGE_POLICY } from '../middleware/own-headers.ts';

/** Name and value of each. HSTS and upgrade-insecure-requests are left out: they are the owner's to send for a domain. */
export function pageHeaders(): readonly (readonly [name: string, value: string])[] {
  const secure = helmet({
    contentSecurityPolicy: { useDefaults: false, directives: PAGE_POLICY },
    frameguard: { action: 'deny' },
    // Where a browser sends no Sec-Fetch-Site (plain HTTP), a form is told from a foreign one by its Origin, which no-referrer hides.
    referrerPolicy: { policy: 'same-origin' },
    strictTransportSecurity: false,
  });
  // All of them are the same for every request: asked once, of a response that goes nowhere.
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  secure(request, response, () => undefined);
  return response.getHeaderNames().map((name) => [name, String(response.getHeader(name))]);
}
