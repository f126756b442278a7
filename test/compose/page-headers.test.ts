/** The headers of the profiler's pages are those that helmet would set. */
import { expect } from 'chai';
import express from 'express';
import helmet from 'helmet';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import request, { type Response } from 'supertest';
import { createProfiler } from '../../app/index.ts';
import { PAGE_POLICY, pageHeaders } from '../../app/middleware/security-headers.ts';

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

  it('isolate its error pages, too, so that another site can’t tell which tokens exist; not those of the application', async () => {
    const profiler = createProfiler({ observe: false, warn: () => undefined });
    const app = express();
    app.use(profiler.watch, profiler.pages, profiler.notFound, profiler.errors);
    try {
      const isolating = ({ headers }: Response): (string | undefined)[] =>
        ['cross-origin-resource-policy', 'cross-origin-opener-policy'].map((name) => headers[name]!);
      const page = await request(app).get('/_profiler/').expect(200);
      expect(isolating(page)).to.deep.equal(['same-origin', 'same-origin']);
      expect(isolating(await request(app).get('/_profiler/aaaaaa').expect(404))).to.deep.equal(
        isolating(page),
      );
      expect(isolating(await request(app).put('/_profiler/aaaaaa').expect(405))).to.deep.equal(
        isolating(page),
      );
      expect(isolating(await request(app).get('/').expect(404))).to.deep.equal([undefined, undefined]);
    } finally {
      await profiler.close();
    }
  });
});
