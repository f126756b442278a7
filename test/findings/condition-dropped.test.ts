import { expect } from 'chai';
import type { Knex } from 'knex';
import { labelPatches } from '../../app/observe/channels/labels.ts';
import { keptQueries } from '../support/kept-queries.ts';
import { withFindingsDatabase } from '../support/findings-app.ts';
import { draftsOf } from '../support/find-by-rule.ts';

/** Sends what TypeORM sends: a condition without a value is left out. */
class EntityManager {
  readonly #knex: Knex;

  constructor(knex: Knex) {
    this.#knex = knex;
  }

  async find(_entity: string, { where }: { where: object }): Promise<unknown> {
    return this.#knex('shipments').where(given(where));
  }

  async findOneBy(_entity: string, where: object): Promise<unknown> {
    return this.#knex('shipments').where(given(where)).first();
  }

  async delete(_entity: string, criteria: object): Promise<unknown> {
    return this.#knex('shipments').where(given(criteria)).delete();
  }
}

function given(where: object): object {
  return Object.fromEntries(Object.entries(where).filter(([, value]) => value !== undefined));
}

describe('finding condition-dropped', () => {
  let undo: (() => void) | null | undefined;
  before(() => {
    undo = labelPatches.find(({ name }) => name === 'typeorm')?.patch({ EntityManager });
  });
  after(() => undo?.());
  const ask = withFindingsDatabase(
    async (knex) => {
      await knex.raw('create table shipments (id int, "customerId" int, status text)');
    },
    (app, knex) => {
      const manager = new EntityManager(knex);
      app.get('/found', async ({ query: { customer } }, res) => {
        res.json(await manager.find('Shipment', { where: { customerId: customer, status: 'open' } }));
      });
      app.get('/filtered', async ({ query: { status } }, res) => {
        res.json(await manager.find('Shipment', { where: { customerId: 7, status } }));
      });
      app.get('/one', async ({ query: { status } }, res) => {
        res.json((await manager.findOneBy('Shipment', { status })) ?? null);
      });
      app.get('/deleted', async ({ query: { status } }, res) => {
        await manager.delete('Shipment', { status });
        res.send('done');
      });
    },
  );

  it('names an id that was undefined, and any condition of a write', async () => {
    const [read] = (await ask('/found')).of('condition-dropped');
    expect(read?.sentence).to.match(
      /^`?Shipment\.find.* ran without customerId: the value was undefined, and the ORM leaves such a condition out$/,
    );
    expect(read?.place).to.match(/condition-dropped\.test\.ts:46$/);
    const [one] = (await ask('/one')).of('condition-dropped');
    expect(one?.sentence, 'the first row of all').to.include(' ran without status:');
    const [write] = (await ask('/deleted')).of('condition-dropped');
    expect(write?.sentence).to.include(' ran without status:');
  });

  it('ignores a condition with a value, and a filter that is not given', async () => {
    for (const path of ['/found?customer=7', '/filtered', '/one?status=old', '/deleted?status=old'])
      expect((await ask(path)).of('condition-dropped'), path).to.deep.equal([]);
  });

  it('names the setting of the ORM that is in use', () => {
    const database = keptQueries({ sql: 'select * from shipments' });
    const queries = database.queries.map((query) => ({ ...query, dropped: ['customerId'] }));
    const fixWith = (...packages: string[]) =>
      draftsOf('condition-dropped', { database: { ...database, queries } }, {}, { shared: { configuration: { packages } } })[0]?.fix; // prettier-ignore
    expect(fixWith('typeorm 0.3.20')).to.contain('of TypeORM').and.not.contain('Prisma');
    expect(fixWith('express 5.1.0')).to.equal(undefined);
  });
});
