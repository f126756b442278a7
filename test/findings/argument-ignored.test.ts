import { expect } from 'chai';
import type { Json } from '../../app/profiler/json.ts';
import { sentencesOf } from '../support/find-by-rule.ts';
import { type AskedQuery, keptQueries, keptRequest } from '../support/kept-queries.ts';

describe('finding argument-ignored', () => {
  const prices = (...currencies: string[]): AskedQuery => ({
    sql: `select * from "prices" where "productId" in (?) and "currency" in (${currencies.map(() => '?').join(', ')})`,
    system: 'sqlite',
    bindings: [['productId', 11], ...currencies.map((one): [string, Json] => ['currency', one])],
    caller: 'src/loaders.js:19',
  });
  const document =
    '{ products(brand: "{ x") { sku euro: price(currency: EUR) { amount display } pound: price(currency: GBP) { amount display } } }';
  const priced = (euro: number, pound: number) => ({
    data: {
      products: [
        { sku: 'A', euro: { amount: euro, display: '€49' }, pound: { amount: pound, display: '£49' } },
      ],
    },
  });
  const of = (
    asked: readonly AskedQuery[],
    sent: Json,
    {
      document: text = document,
      variables = {},
      beside = {},
    }: Partial<{ document: string; variables: Json; beside: object }> = {},
  ) => {
    const graphql = { items: [{ document: text, variables }] };
    const kept = { graphql, database: keptQueries(...asked), request: keptRequest({ sent }), ...beside };
    return sentencesOf('argument-ignored', kept);
  };

  it('names the value that all results were computed with', () => {
    const sentence =
      'price is asked for with currency EUR and GBP, but only EUR got into a statement (select … from prices), and all of them have the same numbers: the result of one is used for the others';
    expect(of([prices('EUR')], priced(49, 49))).to.deep.equal([sentence]);
    const named =
      'query ($a: Currency!, $b: Currency!) { products { euro: price(currency: $a) { amount } pound: price(currency: $b) { amount } } }';
    const variables = { a: 'EUR', b: 'GBP' };
    expect(of([prices('EUR')], priced(49, 49), { document: named, variables })).to.deep.equal([sentence]);
  });

  it('is silent about values that got somewhere, other numbers, and arguments that are no names', () => {
    expect(of([prices('EUR', 'GBP')], priced(49, 49)), 'both were asked for').to.deep.equal([]);
    expect(of([prices('EUR')], priced(49, 42)), 'converted').to.deep.equal([]);
    expect(of([prices('EUR')], priced(0, 0)), 'nothing to tell apart').to.deep.equal([]);
    expect(of([{ sql: 'select * from prices' }], priced(49, 49)), 'chosen in memory').to.deep.equal([]);
    const calls = [{ url: 'http://rates/?to=GBP', requestBody: null }];
    expect(of([prices('EUR')], priced(49, 49), { beside: { http_client: { calls } } })).to.deep.equal([]);
    const first = '{ products { euro: price(first: 5) { amount } pound: price(first: 10) { amount } } }';
    const limited = { sql: 'select * from prices limit ?', bindings: { limit: 5 } };
    expect(of([limited], priced(49, 49), { document: first }), 'no more rows').to.deep.equal([]);
    const apart =
      '{ a: product(sku: "A") { price(currency: EUR) { amount } } b: product(sku: "B") { price(currency: GBP) { amount } } }';
    expect(of([prices('EUR')], priced(49, 49), { document: apart }), 'of other parents').to.deep.equal([]);
  });
});
