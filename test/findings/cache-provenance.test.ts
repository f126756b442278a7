import { expect } from 'chai';
import { cacheProvenanceRules } from '../../app/findings/cache-provenance.ts';
import { keptQueries, keptRequest } from '../support/kept-queries.ts';

const [rule] = cacheProvenanceRules;

interface Past {
  key?: string;
  sql?: string;
  params?: Record<string, string>;
  url?: string;
}

function kept(customer: string, key: string, command: 'GET' | 'SET', params = {}) {
  const isRead = command === 'GET';
  return {
    request: { ...keptRequest({ params }), headers: [{ name: 'X-Customer', value: customer }] },
    cache: {
      items: [{ command, key, hits: isRead ? 1 : null, asked: isRead ? 1 : 0, caller: 'lib/cache.js:3' }],
    },
  };
}

const OWN = 'select * from Customers where id = $1';

/** Customer 2 reads what customer 1 stored. */
function found(
  reader: string,
  { key = 'dashboard:today', sql = OWN, params = {}, url = '/dashboard' }: Past = {},
) {
  const head = { token: 'aaaaaa', url };
  const before = { ...kept('1', key, 'SET', params), database: keptQueries({ sql, bindings: { $1: 1 } }) };
  const own = kept(reader, key, 'GET', params);
  expect(rule?.compares?.(own, head as never)).to.equal(true);
  return rule?.find(own, head as never, { earlier: [{ head, kept: before }] } as never) ?? [];
}

describe('finding cache-of-another-caller', () => {
  it('names a value that was stored for another customer', () => {
    expect(found('2')[0]).to.include({
      sentence:
        'GET found a value that was stored for another x-customer (aaaaaa): its statement asks for that one, and the key dashboard:today names none',
      place: 'lib/cache.js:3',
      anchor: 'k1',
    });
    expect(found('2', { sql: 'select * from orders where customer_id = $1' })).to.have.length(1);
  });

  it('ignores what is the customer’s own, or anybody’s', () => {
    expect(found('1'), 'the same customer').to.deep.equal([]);
    expect(found('2', { key: 'dashboard:1' }), 'a key with the customer').to.deep.equal([]);
    expect(found('2', { sql: 'select * from products where id = $1' }), 'data of nobody').to.deep.equal([]);
    expect(found('2', { params: { id: '1' } }), 'named by the address').to.deep.equal([]);
  });
});
