import { expect } from 'chai';
import {
  changeOf,
  type ComparedRecord,
  type ComparedValue,
  compareValues,
} from '../../../app/panels/shared/compare-values.ts';
import { leavesOf, parseBeginning } from '../../../app/panels/shared/json-leaves.ts';
import { cpuMsOf } from '../../support/waiting.ts';
import type { Json } from '../../../app/profiler/json.ts';

const bindings = (values: Record<string, Json>) =>
  Object.entries(values).map(([name, value]) => ({ name, value }));

function record(given: {
  params?: Record<string, Json>;
  body?: Json;
  bound?: readonly Record<string, Json>[];
  sent?: Json;
}): ComparedRecord {
  const { params = {}, body, bound = [], sent } = given;
  return {
    request: {
      query: [],
      routeParams: bindings(params),
      body: { fields: null, parsed: body }, // prettier-ignore
      response: { contentType: 'application/json', text: sent === undefined ? null : JSON.stringify(sent) },
    },
    database: {
      queries: bound.map((values, at) => ({ bindings: bindings(values), caller: `src/cart.ts:${at + 1}` })),
    },
  };
}

const told = (values: readonly ComparedValue[]) =>
  values
    .filter(({ change }) => change !== null)
    .map(({ name, change, isDerived }) => [name, change, isDerived]);

describe('the same field in three places', () => {
  it('takes a part of a date and the next version for no changed value', () => {
    const sent = { month: '2026-02', version: 2 };
    expect(told(compareValues(record({ params: { month: '2' }, body: { version: 1 }, sent })))).to.deep.equal(
      [],
    );
    expect(told(compareValues(record({ params: { month: '3' }, sent })))).to.have.length(1);
  });

  it('finds a value that changed on the way, with both places', () => {
    const [value] = compareValues(
      record({
        params: { id: '88231' },
        body: { productId: 417, quantity: '1,200' },
        bound: [{ id: 417 }, { cart_id: 88231, product_id: 417, quantity: 1 }],
        sent: { cartId: '88231', lines: [{ productId: 417, quantity: 1 }] },
      }),
    ).filter(({ change }) => change !== null);
    expect(value).to.deep.include({
      name: 'quantity',
      change: 'value',
      isDerived: true,
      places: ['src/cart.ts:2'],
    });
    expect(value?.received).to.include({ field: 'body quantity', value: '1,200', isText: false });
    expect(value?.bound).to.have.length(1);
    expect(value?.bound[0]).to.include({ field: 'quantity', value: 1, query: 1, change: 'value' });
    expect(value?.sent[0]).to.include({ field: 'lines.0.quantity', value: 1, change: 'value' });
  });

  it('takes another text for the name of a code by which a row was found, but not another number', () => {
    const { request } = record({ params: { tariff: 'S' }, sent: { tariff: 'M' } });
    const found = (rows: number): ComparedRecord => ({
      request,
      database: {
        statements: [{ sql: 'select code, name from tariffs where code = ?' }],
        queries: [{ bindings: bindings({ code: 'S' }), caller: null, statement: 0, rows }],
      },
    });
    expect(told(compareValues(found(1)))).to.deep.equal([]);
    expect(told(compareValues(found(0)))).to.deep.equal([['tariff', 'value', false]]);
  });

  it('takes a label or a message for no changed value', () => {
    const said = (received: Json, sent: Json) =>
      told(compareValues(record({ body: { kit: received }, sent })));
    for (const [received, sent] of [
      ['ada@example.org', { errors: { kit: 'taken' } }],
      ['ada@example.org', { kit: 'This is no address.' }],
      [3, { kit: 'Tuinen Smit' }],
      ['fam4', { kit: 'Vegetarian for two' }],
    ] as const)
      expect(said(received, sent), JSON.stringify(sent)).to.deep.equal([]);
    for (const [received, sent] of [
      ['express', 'standard'],
      ['José', 'Jos\ufffd'],
      [3, 4],
    ] as const)
      expect(said(received, { kit: sent }), String(sent)).to.deep.equal([['kit', 'value', false]]);
  });

  it('finds a number that became text, but not text of a path that became a number', () => {
    expect(told(compareValues(record({ body: { price: 5 }, sent: { price: '5' } })))).to.deep.equal([['price', 'type', true]]); // prettier-ignore
    expect(told(compareValues(record({ params: { cartId: '7' }, bound: [{ cart_id: 7 }] })))).to.deep.equal(
      [],
    );
  });

  it('knows lost zeros, lost digits, the truth of "false", and days moved by a time zone', () => {
    expect(changeOf('007', 7, true)).to.equal('value');
    expect(changeOf('12345678901234567890', Number('12345678901234567890'), true)).to.equal('value');
    for (const [text, number] of [
      ['1.249,50', 1.249],
      ['1,249', 1],
      ['12,5', 125],
      ['1.249.50', 1249.5],
    ] as const)
      expect(changeOf(text, number, true), text).to.equal('value');
    for (const [text, number] of [
      ['1.249,50', 1249.5],
      ['1,249.50', 1249.5],
      ['1 249', 1249],
      ['-12,5', -12.5],
    ] as const)
      expect(changeOf(text, number, true), text).to.equal(null);
    expect(changeOf('false', true, true)).to.equal('value');
    expect(changeOf('2024-03-01', '2024-02-29T23:00:00.000Z', true)).to.equal('value');
    expect(changeOf('2024-03-01', '2024-03-01T00:00:00.000Z', true)).to.equal(null);
    expect(changeOf('1.50', 1.5, true)).to.equal(null);
    expect(changeOf('Ada@Example.com ', 'ada@example.com', true)).to.equal('case');
    expect(changeOf('boots', '%boots%', true)).to.equal(null);
  });

  it('is silent if an equal name may mean another thing', () => {
    const silent = [
      record({ params: { id: '5' }, bound: [{ id: 81 }], sent: { id: 551 } }),
      record({ body: { price: 5 }, sent: [{ price: 7 }, { price: 9 }] }),
      record({ body: { lines: [{ quantity: 1 }, { quantity: 2 }] }, bound: [{ quantity: 9 }] }),
      record({ body: { password: '[masked 1, string]' }, bound: [{ password: '[masked 2, string]' }] }),
      record({ body: { note: `a… (50 more characters)` }, bound: [{ note: 'b' }] }),
    ];
    for (const one of silent) expect(told(compareValues(one))).to.deep.equal([]);
  });

  it('compares masked values by their marks', () => {
    const masked = (bound: string) =>
      told(compareValues(record({ body: { iban: '[masked 1, string]' }, bound: [{ iban: bound }] })));
    expect(masked('[masked 1, string]')).to.deep.equal([]);
    expect(masked('[masked 2, string]')).to.deep.equal([['iban', 'value', false]]);
    expect(masked('[masked 2, number]')).to.deep.equal([]);
  });

  it('reads whole values of JSON that was cut', () => {
    const value: Json = { a: 1, list: [{ b: 'x,y' }, { b: 'z' }], c: 2 };
    const text = JSON.stringify(value);
    expect(parseBeginning(text)).to.deep.equal({ value, isWhole: true });
    for (let end = 8; end < text.length; end++) {
      const cut = parseBeginning(text.slice(0, end));
      expect(cut?.isWhole).to.equal(false);
      expect(leavesOf(cut?.value ?? null)[0]).to.deep.equal({ path: 'a', name: 'a', value: 1 });
    }
    expect(parseBeginning('<p>')).to.equal(undefined);
  });

  it('reads all digits of a number, and a text with many quotes once', () => {
    const text = '{"wagon":9031845512207741183,"axles":[-12,1e20],"note":"12345678901234567890"}';
    expect(parseBeginning(text)?.value).to.deep.equal({
      wagon: '9031845512207741183',
      axles: [-12, 1e20],
      note: '12345678901234567890',
    });
    for (const hostile of [
      `["${'\\"'.repeat(200_000)}`,
      // Cut off within an escape.
      `["${'\\"'.repeat(60_000)}\\`,
      `[${'1'.repeat(60_000)}.`,
    ])
      expect(cpuMsOf(() => expect(parseBeginning(hostile)).to.equal(undefined))).to.be.lessThan(400);
  });
});
