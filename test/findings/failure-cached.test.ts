import { expect } from 'chai';
import { draftsOf, ruleOf } from '../support/find-by-rule.ts';
import { keptRequest } from '../support/kept-queries.ts';

describe('finding failure-cached', () => {
  const call = (status: number, url = 'http://bank.internal/latest?base=EUR') => ({
    method: 'GET',
    url,
    status,
    error: null,
    caller: 'src/bank.ts:6',
  });
  const past = (calls: readonly object[], { sent = '3,720.00 EUR', status = 201, body = {} } = {}) => ({
    head: { token: '1b9621', method: 'POST', url: '/offers', route: '/offers', status },
    kept: { request: keptRequest({ sent, body }), http_client: { calls } },
  });
  const of = (
    earlier: readonly object[],
    {
      sent = '3,780.00 EUR',
      calls = [],
      packages = ['lru-cache 11.5.3'],
      cache = [],
      body = {},
    }: Partial<{
      sent: string;
      calls: readonly object[];
      packages: readonly string[];
      cache: readonly object[];
      body: Record<string, string>;
    }> = {},
  ) => {
    const kept = { request: keptRequest({ sent, body }), http_client: { calls }, cache: { items: cache } };
    const head = { status: 201 };
    if (ruleOf('failure-cached').compares?.(kept, head as never) !== true) return [];
    const beside = { earlier, shared: { configuration: { packages } } };
    return draftsOf('failure-cached', kept, head, beside).map(
      ({ sentence, severity }) => `${severity}: ${sentence}`,
    );
  };
  const sentence =
    'info: Nothing was called for EUR, although the latest GET bank.internal/latest for it returned 503 in POST /offers (1b9621), which still answered 201: what replaced the response may be cached';

  it('names the call that failed, and was not sent again', () => {
    expect(of([past([call(200, 'http://bank.internal/latest?base=GBP')]), past([call(503)])])).to.deep.equal([
      sentence,
    ]);
    const redis = { packages: ['ioredis 5.0.0'], cache: [{ key: 'rates:EUR', hits: 1 }] };
    expect(of([past([call(503)])], redis)).to.deep.equal([sentence]);
    const city = call(500, 'http://weather/of/oslo');
    expect(of([past([city], { body: { city: 'oslo' } })], { body: { city: 'oslo' } })).to.have.length(1);
  });

  it('is silent about calls that succeeded since, other values, requests that failed, and without a cache', () => {
    expect(of([past([call(200)]), past([call(503)])]), 'recovered').to.deep.equal([]);
    expect(of([past([call(503), call(200)])]), 'tried again').to.deep.equal([]);
    expect(of([past([call(200)])]), 'cached after a success').to.deep.equal([]);
    expect(of([past([call(503)], { status: 502 })])).to.deep.equal([]);
    expect(of([past([call(404)])]), 'nothing there').to.deep.equal([]);
    expect(of([past([call(503)])], { sent: '2,170.00 GBP' })).to.deep.equal([]);
    expect(of([past([call(503)])], { calls: [call(200)] })).to.deep.equal([]);
    expect(of([past([call(503)])], { packages: ['express 5.0.0'] })).to.deep.equal([]);
    const city = call(500, 'http://weather/of/oslo');
    expect(of([past([city], { body: { city: 'oslo' } })], { body: { city: 'paris' } })).to.deep.equal([]);
  });
});
