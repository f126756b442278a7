/** The headers of the profiler's pages are those that helmet would set. */
import { expect } from 'chai';
import helmet from 'helmet';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { pageHeaders } from '../../app/compose/page-headers.ts';
import { PAGE_POLICY } from '../../app/middleware/own-headers.ts';

describe("the headers of the profiler's pages", () => {
  it('are all that helmet sets, with our policy', () => {
    const request = new IncomingMessage(new Socket());
    const response = new ServerResponse(request);
    const secure = helmet({
      contentSecurityPolicy: { useDefaults: false, directives: PAGE_POLICY },
      frameguard: { action: 'deny' },
      referrerPolicy: { policy: 'same-origin' },
      strictTransportSecurity: false,
    });
    secure(request, response, () => undefined);
    const ours = Object.fromEntries(
      pageHeaders().map(([name, value]) => [name, value.replaceAll('; ', ';')]),
    );
    expect(ours).to.deep.equal({ ...response.getHeaders() });
  });
});
