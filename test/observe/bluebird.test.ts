import { expect } from 'chai';
import type { Knex } from 'knex';
import { createCallerFinder } from '../../app/observe/caller.ts';
import { bluebirdPatch } from '../../app/observe/channels/bluebird.ts';
import { labelPatches } from '../../app/observe/channels/labels.ts';
import { pgPatch } from '../../app/observe/channels/pg.ts';
import { observeBluebird } from '../../app/observe/bluebird.ts';
import { observeKnex } from '../../app/observe/knex.ts';
import { observeLabels } from '../../app/observe/labels.ts';
import { observePg } from '../../app/observe/pg.ts';
import type { QueryFact } from '../../app/observe/query-fact.ts';
import { loadFrom } from '../libraries/cases.ts';
import { type ObservedRequests, observeRequests } from '../support/observed-requests.ts';
import { withPostgres } from '../support/postgres.ts';

const HERE = /^test\/observe\/bluebird\.test\.ts:(\d+)$/;
const REQUESTS = 100;

interface Bluebird {
  resolve(value?: unknown): BluebirdPromise;
  try(work: () => unknown): BluebirdPromise;
  all(values: unknown[]): BluebirdPromise;
  map(values: unknown[], work: (value: never) => unknown): BluebirdPromise;
  reduce(values: unknown[], work: (sum: number, value: never) => unknown, start: number): BluebirdPromise;
  coroutine(work: () => Generator): () => BluebirdPromise;
  bind(to: object): BluebirdPromise;
}
interface BluebirdPromise extends PromiseLike<unknown> {
  tap(work: () => unknown): BluebirdPromise;
  asCallback(callback: (error: unknown) => void): BluebirdPromise;
}

interface Model {
  load(relations: string[]): PromiseLike<unknown>;
  related(name: string): { fetch(): PromiseLike<unknown> };
  save(fields: object): PromiseLike<unknown>;
}
interface Models {
  forge(fields: object): Model;
  where(filter: object): {
    fetch(options: object): PromiseLike<Model>;
    fetchAll(options?: object): BluebirdPromise;
    count(): PromiseLike<number>;
    destroy(options: object): PromiseLike<unknown>;
  };
}
type Bookshelf = (knex: Knex) => {
  model(name: string, fields: object): Models;
};

/** The line that calls this. */
function here(): number {
  return Number(/bluebird\.test\.ts:(\d+)/.exec((new Error().stack ?? '').split('\n')[2] ?? '')?.[1]);
}

function lineOf({ caller }: QueryFact): number {
  return Number(HERE.exec(caller ?? '')?.[1]);
}

const load = loadFrom({ folder: 'current', library: 'bookshelf' });

describe('promises of Bluebird', () => {
  const server = withPostgres();
  let knex: Knex;
  let requests: ObservedRequests;

  before(async function () {
    if (load === null) return this.skip();
    knex = (load('knex') as (settings: Knex.Config) => Knex)({
      client: 'pg',
      connection: server().connection,
      pool: { min: 0, max: 10 },
    });
    await knex.raw('create table things (id serial primary key, name text)');
    await knex.raw('create table parts (id serial primary key, thing_id int)');
    await knex.raw('insert into things select i from generate_series(1, 300) i');
  });
  after(() => (load === null ? undefined : knex.destroy()));
  beforeEach(() => {
    requests = observeRequests(
      { patches: [pgPatch], listen: observePg },
      { patches: [bluebirdPatch], listen: observeBluebird },
      { patches: labelPatches, listen: observeLabels },
    );
  });
  afterEach(() => {
    requests.close();
  });

  const query = (id: number): Knex.Raw => knex.raw('select ?::int as id', [id]);

  it(`keep the statements of ${REQUESTS} requests that run at once apart`, async () => {
    const bluebird = load?.('bluebird') as Bluebird;
    const ways: Record<string, (id: number) => unknown> = {
      // Of a callback that returns a builder, Bluebird sends the query.
      then: (id) => bluebird.resolve().then(() => query(id)),
      tap: (id) => bluebird.bind({}).tap(() => query(id)),
      try: (id) => bluebird.try(() => query(id)).then(() => undefined),
      all: (id) => bluebird.all([query(id), bluebird.resolve()]).then(() => query(id)),
      map: (id) => bluebird.map([bluebird.resolve(), 1], () => query(id)),
      reduce: (id) => bluebird.reduce([0, 1], () => query(id), 0),
      callback: (id) =>
        new Promise<void>((resolve) => {
          bluebird.try(() => query(id)).asCallback(() => void query(id).then(() => { resolve(); })); // prettier-ignore
        }),
      coroutine: (id) =>
        bluebird.coroutine(function* () {
          yield query(id);
          yield query(id);
        })(),
    };
    for (const [name, work] of Object.entries(ways)) {
      const all = await Promise.all(
        Array.from({ length: REQUESTS }, (_, id) =>
          requests.observed(async () => {
            await work(id);
          }),
        ),
      );
      for (const [id, queries] of all.entries()) {
        expect(queries.length, name).to.be.greaterThan(0);
        expect(new Set(queries.flatMap(({ bindings }) => bindings)), name).to.deep.equal(new Set([id]));
      }
    }
  });

  it('leave what runs outside of a request outside', async () => {
    const bluebird = load?.('bluebird') as Bluebird;
    const outside: unknown[] = [];
    // The request fills the queue first.
    const inside = requests.observed(() => bluebird.resolve().then(() => undefined));
    await bluebird.resolve().then(() => outside.push(requests.tracker.current()));
    await inside;
    expect(outside).to.deep.equal([undefined]);
  });

  for (const watched of [false, true])
    it(`of Bookshelf on Knex${watched ? ', passed in,' : ''} have the line that called`, async () => {
      const bookshelf = (load?.('bookshelf') as Bookshelf)(knex);
      bookshelf.model('Part', { tableName: 'parts' });
      const Thing = bookshelf.model('Thing', {
        tableName: 'things',
        parts(this: { hasMany(name: string, key: string): unknown }) {
          return this.hasMany('Part', 'thing_id');
        },
      });
      const observation = watched
        ? observeKnex(knex, { ...requests, findCaller: createCallerFinder() })
        : null;
      let line = 0;
      const all = await Promise.all(
        Array.from({ length: REQUESTS }, (_, index) =>
          requests.observed(async () => {
            const id = index + 1;
            line = here() + 1;
            const thing = await Thing.where({ id }).fetch({ require: true });
            await Thing.where({ id }).fetchAll({ withRelated: ['parts'] });
            await thing.load(['parts']);
            await thing.related('parts').fetch();
            await Thing.where({ id }).count();
            await thing.save({ name: `${id}` });
            await Thing.where({ id: id + 200 }).destroy({ require: false });
            await Thing.where({ id }).fetchAll().then(() => thing.related('parts').fetch()); // prettier-ignore
          }),
        ),
      );
      observation?.close();
      for (const [index, queries] of all.entries()) {
        expect(queries.map((made) => lineOf(made) - line)).to.deep.equal([0, 1, 1, 2, 3, 4, 5, 6, 7, 7]);
        for (const { bindings } of queries)
          expect(bindings.map(String).some((value) => [index + 1, index + 201].map(String).includes(value))).to.equal(true); // prettier-ignore
      }
    });
});
