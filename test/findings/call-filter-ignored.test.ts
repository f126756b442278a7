import { expect } from 'chai';
import { draftsOf } from '../support/find-by-rule.ts';

describe('finding call-filter-ignored', () => {
  const items = ['N1', 'E1', 'E2', 'S1'].map((zone, cents) => ({ zone, cents }));
  const of = (
    query: string,
    {
      got = { items },
      truncated = false,
      method = 'GET',
      status = 200,
    }: { got?: object; truncated?: boolean; method?: string; status?: number } = {},
  ) => {
    const call = {
      method,
      url: `http://tariffs.internal/v2/tariffs?${query}`,
      status,
      error: null,
      caller: 'src/tariff.js:18',
      responseBody: { text: JSON.stringify(got), truncated },
    };
    return draftsOf('call-filter-ignored', { http_client: { calls: [call] } });
  };

  it('says how many items have a value that was not asked for, and as what it was sent', () => {
    expect(of('zone%5B%5D=E1&zone%5B%5D=E2&limit=20')[0]).to.include({
      sentence:
        'GET tariffs.internal/v2/tariffs asked for 2 values of zone (sent as zone[]), but 2 of 4 items in its response have another one: the service did not apply the filter',
      anchor: 'c1',
      place: 'src/tariff.js:18',
    });
    expect(of('zone=E1,E2')[0]?.sentence).to.contain('asked for 2 values of zone, but 2 of 4 items');
    expect(of('state=open', { got: [{ state: 'open' }, { state: 'done' }] })).to.have.length(1);
  });

  it('is silent if it was applied, means something else, or not everything is known', () => {
    const near: [string, readonly unknown[]][] = [
      ['applied', of('zone=E1&zone=E2', { got: items.slice(1, 3) })],
      ['none has it: another spelling', of('zone%5B%5D=e1&zone%5B%5D=e2')],
      ['no field of the items', of('area%5B%5D=E1&area%5B%5D=E2')],
      ['not of all items', of('zone=E1,E2', { got: [...items, { cents: 9 }] })],
      ['one number may be a limit', of('cents=1')],
      ['a fallback', of('lang=de', { got: [{ lang: 'de' }, { lang: 'en' }] })],
      ['one item', of('zone=E1,E2', { got: [{ zone: 'N1' }] })],
      ['not whole', of('zone=E1,E2', { truncated: true })],
      ['two lists', of('zone=E1,E2', { got: { items, others: items } })],
      ['a write', of('zone=E1,E2', { method: 'POST' })],
      ['a failure', of('zone=E1,E2', { status: 400 })],
    ];
    for (const [what, found] of near) expect(found, what).to.deep.equal([]);
  });
});
