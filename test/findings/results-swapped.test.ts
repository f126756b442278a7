import { expect } from 'chai';
import type { Json } from '../../app/profiler/json.ts';
import { draftsOf, sentencesOf } from '../support/find-by-rule.ts';
import { keptQueries, keptRequest } from '../support/kept-queries.ts';

const STATES = {
  'DE-1001': { status: 'in_transit', depot: 'Leipzig' },
  'DE-1002': { status: 'delivered', depot: 'Köln' },
  'DE-1003': { status: 'customs', depot: 'Basel' },
};
type Key = keyof typeof STATES;
const KEYS = Object.keys(STATES) as Key[];
const TOOK = { 'DE-1001': 130, 'DE-1002': 30, 'DE-1003': 70 };

describe('finding results-swapped', () => {
  const callOf = (key: string, responseBody: Json, ran: object) => ({
    method: 'GET',
    url: `http://carrier.internal/v1/parcels/${key}`,
    status: 200,
    error: null,
    caller: 'src/carrier.ts:4',
    responseBody: { text: JSON.stringify(responseBody), truncated: false },
    ...ran,
  });
  const calls = KEYS.map((key, startMs) => callOf(key, STATES[key], { startMs, durationMs: TOOK[key] }));
  /** `of`: of which key the result is that the item of each key has. */
  const sentOf = (of: readonly Key[]) => ({
    done: false,
    parcels: KEYS.map((number, at) => ({ number, text: 'a parcel', ...STATES[of[at] ?? number] })),
  });
  const said = (sent: Json, called: readonly object[] = calls) =>
    sentencesOf(
      'results-swapped',
      { request: keptRequest({ sent }), http_client: { calls: called } },
      { status: 200 },
    );
  const swapped = sentOf(['DE-1002', 'DE-1003', 'DE-1001']);

  it('says of which key the values are, and in which order the calls ended', () => {
    const [finding] = draftsOf(
      'results-swapped',
      { request: keptRequest({ sent: swapped }), http_client: { calls } },
      { status: 200 },
    );
    expect(finding).to.include({
      sentence:
        'The response gives DE-1001 the status and depot of DE-1002, and 2 other items have those of another: 3 calls ran at once and ended in another order than they began',
      panel: 'http_client',
      anchor: 'c1',
      place: 'src/carrier.ts:4',
      severity: 'bad',
    });
    expect(said(sentOf(['DE-1002', 'DE-1001', 'DE-1003']))[0]).to.contain('1 other item has those');
    const { 'DE-1001': a, 'DE-1002': b } = STATES;
    expect(said({ 'DE-1001': b, 'DE-1002': a })).to.have.length(1);
  });

  it('compares rows, cached values and the values of a view as well', () => {
    const database = keptQueries(
      ...KEYS.map((key) => ({
        sql: 'select status, depot from parcels where number = $1',
        bindings: { number: key },
        found: [STATES[key]],
      })),
    );
    const queries = database.queries.map((query) => ({ ...query, statement: 0, startMs: 1, durationMs: 5 }));
    const request = keptRequest({ sent: swapped });
    const ofRows = { request, database: { ...database, queries } };
    expect(sentencesOf('results-swapped', ofRows, { status: 200 })[0]).to.match(
      /: 3 statements ran at once$/,
    );
    const items = KEYS.map((key) => ({
      command: 'GET',
      key: `parcel:${key}`,
      hits: 1,
      caller: 'src/a.ts:1',
      found: { name: 'parcel', value: JSON.stringify(STATES[key]) },
      startMs: 1,
      durationMs: 2,
    }));
    expect(sentencesOf('results-swapped', { request, cache: { items } }, { status: 200 })).to.have.length(1);
    const page = {
      request: keptRequest(),
      http_client: { calls },
      views: { views: [{ depth: 0, locals: swapped }] },
    };
    expect(sentencesOf('results-swapped', page, { status: 200 })).to.have.length(1);
  });

  it('asks of small numbers that the items follow the order in which the calls ended', () => {
    const numbered = (ran: readonly number[]) =>
      ['North', 'South'].map((name, at) =>
        callOf(String(at + 1), { name }, { startMs: at, durationMs: ran[at] }),
      );
    const comments = [
      { id: 1, name: 'South' },
      { id: 2, name: 'North' },
    ];
    expect(said(comments, numbered([9, 3]))).to.have.length(1);
    expect(said(comments, numbered([3, 9])), 'ids of something else').to.deep.equal([]);
  });

  it('is silent if each has its own, or more than the order differs', () => {
    const near: [string, readonly string[]][] = [
      ['own', said(sentOf(KEYS))],
      ['one has the values of another', said(sentOf(['DE-1002', 'DE-1002', 'DE-1003']))],
      ['all have the same', said(sentOf(['DE-1002', 'DE-1002', 'DE-1002']))],
      [
        'values of its own',
        said({ parcels: KEYS.map((number) => ({ number, status: 'known', depot: 'Ulm' })) }),
      ],
      ['no key', said({ parcels: swapped.parcels.map(({ status, depot }) => ({ status, depot })) })],
      [
        'one after the other',
        said(
          swapped,
          calls.map((call, at) => ({ ...call, startMs: at * 10, durationMs: 5 })),
        ),
      ],
      [
        'a write',
        said(
          swapped,
          calls.map((call) => ({ ...call, method: 'POST' })),
        ),
      ],
      [
        'results that are equal',
        said(
          swapped,
          KEYS.map((key) => callOf(key, STATES['DE-1001'], { startMs: 0, durationMs: 9 })),
        ),
      ],
      [
        'a switch that was turned round',
        said(
          [
            { number: 'DE-1001', isOpen: false },
            { number: 'DE-1002', isOpen: true },
          ],
          [true, false].map((isOpen, at) =>
            callOf(KEYS[at] ?? '', { isOpen }, { startMs: 0, durationMs: 9 }),
          ),
        ),
      ],
    ];
    for (const [what, found] of near) expect(found, what).to.deep.equal([]);
  });
});
