import { expect } from 'chai';
import type { RequestHandler } from 'express';
import { createRequire } from 'node:module';
import { constants } from 'node:zlib';
import { type Asked, withFindingsApp } from '../support/findings-app.ts';
import { draftsOf } from '../support/find-by-rule.ts';

const compression = createRequire(import.meta.url)('compression') as (
  options: BrotliOptionsOf,
) => RequestHandler;

interface BrotliOptionsOf {
  brotli: { params: Record<number, number> };
}

describe('finding slow-transform', () => {
  const rows = Array.from({ length: 15_000 }, (_row, at) => ({ id: at, key: (at * 7919) % 1_000_003 }));
  const withQuality = (quality: number) =>
    compression({ brotli: { params: { [constants.BROTLI_PARAM_QUALITY]: quality } } });
  const ask = withFindingsApp((app) => {
    app.get('/best', withQuality(11), (_req, res) => res.json(rows));
    app.get('/small', withQuality(11), (_req, res) => res.json(rows.slice(0, 100)));
  });
  const init = { headers: { 'accept-encoding': 'br' } };

  it('names the middleware that compressed the body after the handler', async () => {
    // On a busy machine the process may wait longer than it compresses.
    const isFound = ({ of }: Asked): boolean => of('slow-transform').length > 0;
    const [finding] = (await ask.when('/best', isFound, init)).of('slow-transform');
    expect(finding?.sentence).to.match(
      /^compression compressed the body \(br, [\d.]+ KiB sent\) after the handler had passed it on: [\d.]+ m?s \(\d+ % of the request\)$/,
    );
    expect(finding?.place).to.match(/slow-transform\.test\.ts:\d+$/);
    expect(
      (await ask('/best', { headers: { 'accept-encoding': 'identity' } })).of('slow-transform'),
    ).to.deep.equal([]);
    const isQuick = ({ profile }: Asked): boolean => (profile.durationMs ?? 0) < 100;
    expect((await ask.when('/small', isQuick, init)).of('slow-transform')).to.deep.equal([]);
  });

  it('ignores a body that the handler wrote piece by piece', () => {
    const found = (startMs: number) =>
      draftsOf(
        'slow-transform',
        {
          request: {
            response: {
              headers: [{ name: 'Content-Encoding', value: 'gzip' }],
              headersAtMs: 20,
              bytes: 900,
              setBy: { sent: [[{ hooked: true, layer: 0 }]] },
            },
          },
          runtime: { cpuUserMs: 200, cpuSystemMs: 9 },
          database: { queries: [{ startMs, durationMs: 10 }] },
        },
        { durationMs: 410 },
      );
    expect(found(5)).to.have.length(1);
    expect(found(200)).to.deep.equal([]);
  });

  it('names an interceptor whose time is not that of the controller', () => {
    const found = (startMs: number | null) =>
      draftsOf(
        'slow-transform',
        {
          request: { response: { headers: [] } },
          spans: {
            items: [
              {
                name: 'Interceptor ClassSerializerInterceptor',
                startMs: 0,
                durationMs: 400,
                inside: null,
                caller: null,
              },
              {
                name: 'Controller ReportsController.sales',
                startMs: 5,
                durationMs: 50,
                inside: 0,
                caller: null,
              },
            ],
          },
          ...(startMs === null ? {} : { database: { queries: [{ startMs }] } }),
        },
        { durationMs: 410 },
      );
    expect(found(null)?.[0]?.sentence).to.equal(
      'The interceptor ClassSerializerInterceptor took 350.0 ms (85 % of the request), without Controller ReportsController.sales, which it is around',
    );
    expect(found(20), 'a statement of the controller').to.have.length(1);
    expect(found(100), 'a statement of the interceptor').to.deep.equal([]);
  });
});
