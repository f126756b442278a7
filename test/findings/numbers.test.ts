import { expect } from 'chai';
import type { Json } from '../../app/profiler/json.ts';
import { type AskedQuery, type AskedRequest, keptQueries, keptRequest } from '../support/kept-queries.ts';
import { draftsOf, sentencesOf } from '../support/find-by-rule.ts';

interface AskedCall {
  sent?: Json;
  form?: string;
  got?: string;
}

const callOf = ({ sent, form, got }: AskedCall) => ({
  method: 'POST',
  url: 'http://bank.internal/refunds',
  caller: 'src/bank.ts:7',
  requestHeaders: [
    {
      name: 'content-type',
      value: form === undefined ? 'application/json' : 'application/x-www-form-urlencoded',
    },
  ],
  requestBody: { text: form ?? JSON.stringify(sent ?? null) },
  responseBody: { text: got ?? '{}' },
});

function found(
  name: string,
  asked: AskedRequest & { text?: string; link?: string },
  {
    calls = [],
    database,
    packages = [],
  }: {
    calls?: readonly AskedCall[];
    database?: ReturnType<typeof keptQueries>;
    packages?: readonly string[];
  } = {},
) {
  const request = keptRequest(asked);
  const headers = asked.link === undefined ? [] : [{ name: 'Link', value: asked.link }];
  const response = { ...request.response, headers, text: asked.text ?? request.response.text };
  const kept = {
    request: { ...request, response },
    routing: { route: { source: 'src/movies.ts:4', handler: 'listMovies' } },
    http_client: { calls: calls.map(callOf) },
    ...(database === undefined ? {} : { database }),
  };
  return draftsOf(name, kept, { method: 'GET', status: 200 }, { shared: { configuration: { packages } } });
}

const sentences = (...given: Parameters<typeof found>) => found(...given).map(({ sentence }) => sentence);

describe('findings from numbers', () => {
  it('a cent that was lost on the way to a service', () => {
    const of = (amount: number, call: AskedCall) =>
      found('cent-lost', { body: { amount } }, { calls: [call] });
    const sentence =
      'POST bank.internal/refunds got one less for cents than amount × 100: its product in floating point was cut off, not rounded';
    expect(of(19.99, { sent: { order: 3, cents: 1998 } })[0]).to.include({
      sentence,
      place: 'src/bank.ts:7',
      anchor: 'c1',
    });
    expect(of(19.99, { form: 'currency=eur&cents=1998' })[0]?.sentence).to.equal(sentence);
    expect(of(19.99, { sent: { cents: 1999 } })).to.deep.equal([]);
    expect(of(19.99, { sent: { cents: 1999, fee: 1998 } })).to.deep.equal([]);
    expect(of(20.5, { sent: { cents: 2050 } })).to.deep.equal([]);
  });

  it('a decimal comma that was lost on the way to a statement or a service', () => {
    const of = (price: Json, bindings: Record<string, Json>): string[] =>
      sentencesOf('comma-lost', {
        request: keptRequest({ body: { items: [{ price }] } }),
        database: keptQueries({ sql: 'insert into items (a, b) values ($1, $2)', bindings }),
      });
    const end = (text: string): string =>
      `: price was received as “${text}”, and parseFloat knows no decimal comma`;
    expect(of('21,50', { cents: 2100 })).to.deep.equal([
      `insert into items got 2100 for cents, not 2150${end('21,50')}`,
    ]);
    expect(of('1.249,00', { cents: 125 })).to.deep.equal([
      `insert into items got 125 for cents, not 124900${end('1.249,00')}`,
    ]);
    expect(of('1.249,00', { price: '1.249' })).to.deep.equal([
      `insert into items got 1.249 for price, not 1249${end('1.249,00')}`,
    ]);
    for (const [price, bindings] of [
      ['21,50', { cents: 2150 }],
      ['21,50', { price: 21.5 }],
      ['21,50', { quantity: 21 }],
      ['21,50', { quantity: 2100 }],
      ['21,00', { price: 21 }],
      ['10,20', { price: 10, price_to: 20 }],
      ['1,249', { price: 1 }],
      ['21.50', { price: 21 }],
    ] as const)
      expect(of(price, bindings), price).to.deep.equal([]);
    const call = { sent: { cents: 2100 } };
    expect(found('comma-lost', { body: { price: '21,50' } }, { calls: [call] })[0]).to.include({
      anchor: 'c1',
    });
  });

  it('a next page that is a text with a number behind it', () => {
    const of = (query: Record<string, string>, next: Json, more = {}) =>
      sentences('next-page-joined', { query, sent: { page: query.page ?? null, next }, ...more });
    const sentence = (name: string, field = 'next') =>
      `${field} has the received ${name} with a number written behind it, not added to it: a parameter is a text`;
    expect(of({ page: '2' }, '/movies?page=21')).to.deep.equal([sentence('page')]);
    expect(of({ page: '2' }, '21')).to.deep.equal([sentence('page')]);
    expect(of({ offset: '20', limit: '15' }, '/movies?limit=15&offset=2015')).to.deep.equal([
      sentence('offset'),
    ]);
    expect(of({ page: '2' }, null, { link: '</movies?page=21>; rel="next"' })).to.deep.equal([
      sentence('page', 'the header Link'),
    ]);
    for (const next of ['/movies?page=3', 3, 21, null, '/movies?page=211'])
      expect(of({ page: '2' }, next)).to.deep.equal([]);
    expect(of({ offset: '20', limit: '15' }, '/movies?offset=35')).to.deep.equal([]);
    expect(of({ after: '2' }, '/movies?after=21'), 'the id of the next').to.deep.equal([]);
  });

  it('ids that lost their last digits', () => {
    const of = (text: string, got?: string) =>
      sentences('digits-lost', { text }, { calls: got === undefined ? [] : [{ got }] });
    const lost =
      'value of id in the response lost the last digits: a JavaScript number can’t hold an integer above 2^53';
    expect(of('{"id":1871240935127654400}')).to.deep.equal([`1 ${lost}`]);
    expect(of('[{"id":"1871240935127654400"},{"id":"1871240935127659000"}]')).to.deep.equal([
      `2 ${lost.replace('value', 'values')}`,
    ]);
    expect(of('{"id":1871240935127654400}', '{"id":1871240935127654401}')).to.deep.equal([
      `1 ${lost}; POST bank.internal/refunds responded with all of them`,
    ]);
    for (const text of [
      '{"id":"1871240935127654400"}',
      '{"id":1871240935127654401}',
      '[{"id":"1871240935127654400"},{"id":"1871240935127654401"}]',
      '[{"id":9007199254740991},{"id":7}]',
      '{"bytes":1871240935127654400}',
    ])
      expect(of(text), text).to.deep.equal([]);
    const database = (id: Json) =>
      keptQueries({ sql: 'select * from posts where id = $1', bindings: { id } });
    expect(sentences('digits-lost', {}, { database: database(1871240935127654400) })).to.deep.equal([
      'select … from posts was sent a JavaScript number above 2^53 for id, which can’t hold its last digits',
    ]);
    expect(sentences('digits-lost', {}, { database: database('1871240935127654401') })).to.deep.equal([]);
    const scans = {
      sql: 'select * from scans where parcel_id = ?',
      bindings: { parcel_id: 7204118840331174000 },
    };
    const parcels = { sql: 'select id from parcels where name = ?', found: [{ id: 7204118840331174000 }] };
    const both = keptQueries(
      { ...parcels, system: 'mysql', caller: 'src/p.ts:3' },
      { ...scans, system: 'mysql', rows: 0 },
    );
    const shared = { configuration: { packages: ['mysql2 3.1.0'] } };
    const kept = { request: keptRequest(), database: both };
    expect(draftsOf('digits-lost', kept, {}, { shared })[0]).to.include({
      place: 'src/p.ts:3',
      sentence:
        'select … from parcels returned an id as a JavaScript number above 2^53, which can’t hold its last digits: select … from scans (src/a.ts:5) was sent it for parcel_id, and found no row',
      fix: 'Read long ids as text; set supportBigNumbers and bigNumberStrings of mysql2.',
    });
    const asked = (id: string, rows = 0) =>
      sentences(
        'digits-lost',
        { params: { id } },
        { database: keptQueries({ sql: 'select * from posts where id = $1', bindings: { id }, rows }) },
      );
    expect(asked('915013950209306600')).to.deep.equal([
      'select … from posts found no row for id 915013950209306600, which ends as JavaScript prints a number above 2^53: whoever sent it had read the id as a number',
    ]);
    expect(asked('915013950209306600', 1), 'it is there').to.deep.equal([]);
    expect(asked('915013950209306613')).to.deep.equal([]);
    expect(asked('4711')).to.deep.equal([]);
  });

  it('a long id that a driver returned as a number, at the statement that returned it', () => {
    const of = (id: Json, system: string, ...packages: string[]) =>
      found(
        'digits-lost',
        { text: '{"messages":[{"id":844138244839845900}]}' },
        {
          packages,
          database: keptQueries(
            {
              sql: 'select id, name from people where token = $1',
              found: [{ id: 1 }],
              caller: 'src/identify.ts:5',
            },
            { sql: 'select id from messages', system, found: [{ id }], caller: 'src/channels.ts:27' },
          ),
        },
      )[0];
    const sentence =
      'select … from messages returned id as a JavaScript number, which can’t hold an integer above 2^53: 1 value in the response lost the last digits';
    expect(of(844138244839845900, 'postgresql', 'express 5.3.0', 'postgres 3.4.9')).to.include({
      sentence: `${sentence}; leave bigint as text in the types of postgres.js`,
      place: 'src/channels.ts:27',
      broke: 'response',
    });
    const advice = (...given: [system: string, ...packages: string[]]) =>
      of(844138244839845900, ...given)?.sentence.slice(sentence.length);
    expect(advice('postgresql', 'pg 8.16.0')).to.match(/^; .* of pg$/);
    expect(advice('mysql', 'mysql2 3.0.0')).to.match(/^; .* of mysql2$/);
    expect(advice('sqlite')).to.match(/^; .* of node:sqlite$/);
    expect(advice('postgresql')).to.equal('');
    expect(of(7, 'postgresql', 'pg 8.16.0')?.place, 'of no statement').to.equal('src/movies.ts:4');
  });

  it('a negative number that a comparison of texts let through', () => {
    const of = (total: string, balance: number) =>
      sentences(
        'text-compared',
        {},
        {
          database: keptQueries(
            { sql: 'select * from orders', found: [{ id: 2, total }] },
            { sql: 'select * from cards', found: [{ code: 'GC-1', balance: '95.00' }] },
            { sql: 'update cards set balance = $1 where code = $2', bindings: { balance, code: 'GC-1' } },
          ),
        },
      );
    expect(of('120.00', -25)).to.deep.equal([
      'update cards wrote a negative balance: balance less total. Both were returned as texts, and among texts the first is the greater',
    ]);
    expect(of('120.00', -24)).to.deep.equal([]);
    expect(of('96.00', -1), 'less as a text, too').to.deep.equal([]);
  });

  it('an id that JSON.parse rounded, if a later step has the rounded one', () => {
    const got = '{"shipments":[{"id":9107344120600513,"service":"parcel"}]}';
    const of = (...calls: readonly AskedCall[]) => found('digits-lost', {}, { calls });
    const rounded = { sent: { shipment: '9107344120600512' } };
    expect(of({ got }, rounded)[0]).to.include({
      sentence:
        'POST bank.internal/refunds responded with a number above 2^53 for id; JSON.parse rounded it, and later steps have another id',
      anchor: 'c1',
      place: 'src/bank.ts:7',
    });
    expect(of({ got }), 'not used').to.deep.equal([]);
    expect(of({ got }, { sent: { shipment: '9107344120600513' } }), 'read as text').to.deep.equal([]);
    expect(of({ got: got.replace('513', '512') }, rounded), 'a number of JavaScript').to.deep.equal([]);
    expect(of({ got: got.replace(/(\d{16})/, '"$1"') }, rounded), 'a text').to.deep.equal([]);
    const wagons = '[{"wagon":9031845512207741183}]';
    expect(of({ got: wagons }, { sent: { wagon: '9031845512207741000' } })[0]?.sentence).to.match(
      / for wagon; /,
    );
    expect(of({ got: wagons }, { sent: { wagon: '9031845512207741183' } })).to.deep.equal([]);
  });

  it('a number that MySQL compares with texts', () => {
    const card: AskedQuery = {
      sql: 'select card_number as cardNumber from cards where card_number = ?',
      system: 'mysql',
      found: [{ cardNumber: '40012' }],
    };
    const loans = (card_number: Json, system = 'mysql'): AskedQuery => ({
      sql: 'select id from loans where card_number = ?',
      system,
      bindings: { card_number },
    });
    const of = (...queries: readonly AskedQuery[]) =>
      sentences('number-for-text', {}, { database: keptQueries(...queries) });
    expect(of(card, loans(40_012))).to.deep.equal([
      'select … from loans compares card_number with a number, but columns of this name hold texts: MySQL converts each row and uses no index on it',
    ]);
    expect(of(card, loans('[masked 3, number]'))).to.have.length(1);
    expect(of(card, loans('40012'))).to.deep.equal([]);
    expect(of(loans(40_012)), 'nothing is known of the column').to.deep.equal([]);
    expect(of(card, loans(40_012, 'postgresql')), 'an error there').to.deep.equal([]);
    expect(of({ ...card, found: [{ cardNumber: 40_012 }] }, loans(40_012))).to.deep.equal([]);
  });

  it('a version that was received as a number and read as text, before a refusal', () => {
    const read: AskedQuery = {
      sql: 'select * from pages where slug = $1 for update',
      bindings: { slug: 'start' },
      found: [{ id: 1, revision: '4', owner_id: '7' }],
      caller: 'src/pages.js:15',
    };
    const of = (body: Json, { status = 409, user = null as Json, queries = [read] } = {}) => {
      const request = keptRequest({ body, user });
      const sent = { ...request, response: { ...request.response, sentFrom: 'src/routes/pages.js:38' } };
      const kept = { request: sent, database: keptQueries(...queries) };
      return draftsOf('never-equal', kept, { status });
    };
    expect(of({ revision: 4 })[0]).to.include({
      sentence:
        'revision was received as a number, and select … from pages returned the same as text in revision, as drivers return BIGINT: === is false for them. The response was 409 at src/routes/pages.js:38',
      place: 'src/pages.js:15',
      broke: 'response',
    });
    expect(of({ baseRevision: 4 }), 'under a longer name').to.have.length(1);
    expect(of({ title: 'x' }, { status: 403, user: { id: 7 } })[0]?.sentence).to.match(
      /^user\.id is a number.*in owner_id/,
    );
    const update = {
      sql: 'update pages set title = $1 where slug = $2',
      bindings: { title: 'x', slug: 'start' },
    };
    const near: [string, readonly unknown[]][] = [
      ['another one', of({ revision: 3 })],
      ['text as well', of({ revision: '4' })],
      ['a success', of({ revision: 4 }, { status: 200 })],
      ['not found', of({ revision: 4 }, { status: 404 })],
      ['no version', of({ id: 1, amount: 4 }, { queries: [{ ...read, found: [{ amount: '4' }] }] })],
      ['read as a number', of({ revision: 4 }, { queries: [{ ...read, found: [{ revision: 4 }] }] })],
      ['compared in SQL', of({ revision: 4 }, { queries: [{ ...read, bindings: { revision: 4 } }] })],
      ['written', of({ revision: 4 }, { queries: [update, read] })],
      ['something else was read later', of({ revision: 4 }, { queries: [read, { ...read, found: [] }] })],
      ['several rows', of({ revision: 4 }, { queries: [{ ...read, rows: 2 }] })],
      ['of another owner', of({}, { status: 403, user: { id: 8 } })],
      ['a user whose id is text', of({}, { status: 403, user: { id: '7' } })],
    ];
    for (const [what, found] of near) expect(found, what).to.have.length(0);
  });

  describe('compared as texts in the line that threw', () => {
    const of = (
      lines: readonly string[],
      {
        amount = '1000',
        highest = '950',
        beside = {},
        above = [],
      }: { amount?: Json; highest?: Json; beside?: object; above?: readonly object[] } = {},
    ) => {
      const source = { from: 7, lines };
      const frame = {
        kind: 'own',
        file: 'src/auction.js',
        line: 6 + lines.length,
        column: 1,
        excerpt: source,
      };
      const thrown = { chain: [{ class: 'Refused', message: 'too low', frames: [...above, frame] }] };
      const kept = {
        request: keptRequest({ body: { amount } }),
        cache: { items: [{ found: { name: 'lot:14', value: { highest } } }] },
        exception: { errors: [{ thrown }] },
        ...beside,
      };
      return draftsOf('text-compared', kept, { method: 'POST', status: 409 });
    };
    const line = '  if (bid.amount <= lot.highest) throw new Refused(`more than ${lot.highest}`);';

    it('is named with its place', () => {
      expect(of([line])[0]).to.include({
        sentence:
          'bid.amount <= lot.highest compared two numbers as texts, and led to Refused: by number, it is false',
        severity: 'bad',
        panel: 'exception',
        anchor: 'error-1',
        place: 'src/auction.js:7',
      });
    });

    it('is found above the throw, beside other conditions, and in the caller of what threw', () => {
      expect(of(['if (open && bid.amount <= lot.highest) {', "  throw new Refused('low');"])).to.have.length(
        1,
      );
      const refuse = {
        kind: 'own',
        file: 'src/refuse.js',
        line: 3,
        excerpt: { from: 3, lines: ['  throw one;'] },
      };
      expect(of(['if (amount <= highest) refuse();'], { above: [refuse] })[0]?.place).to.equal(
        'src/auction.js:7',
      );
      const database = {
        database: keptQueries({ sql: 'select highest from lots', found: [{ highest: '950' }] }),
      };
      expect(of([line], { beside: { ...database, cache: { items: [] } } })).to.have.length(1);
    });

    it('is silent for numbers, the same result, another branch, and values that are not certain', () => {
      expect(of([line], { amount: '900' }), 'as by number').to.deep.equal([]);
      expect(of([line], { amount: 1000 }), 'a number').to.deep.equal([]);
      expect(of([line], { highest: '1.2.3' }), 'a version').to.deep.equal([]);
      expect(of([line], { beside: { cache: { items: [] } } }), 'not recorded').to.deep.equal([]);
      const rows = { database: keptQueries({ sql: 'select highest from lots', found: [{ highest: '99' }] }) };
      expect(of([line], { beside: rows }), 'of two').to.deep.equal([]);
      for (const other of [
        'if (Number(bid.amount) <= lot.highest) throw one;',
        'if (bid.amount <= +lot.highest) throw one;',
        'if (bid.amount <= lot.highest || closed) throw one;',
        'if (bid.amount > lot.highest) lead(); else throw one;',
        'if (bid.amount >= lot.highest) throw one;',
        'throw one;',
      ])
        expect(of([other]), other).to.deep.equal([]);
      expect(of(['if (bid.amount <= lot.highest) {', '  warn(); }', 'throw one;']), 'after it').to.deep.equal(
        [],
      );
      expect(of(['if (bid.amount <= lot.highest) return 1;', 'throw one;']), 'after a return').to.deep.equal(
        [],
      );
      expect(of(['if (bid.amount <= lot.highest)', '  throw one;']), 'below it').to.have.length(1);
    });
  });
});
