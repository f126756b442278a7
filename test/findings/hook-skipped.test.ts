import { expect } from 'chai';
import type { Knex } from 'knex';
import { labelPatches } from '../../app/observe/channels/labels.ts';
import { withFindingsDatabase } from '../support/findings-app.ts';

let send: (set: object) => Promise<unknown>;

/** As of Sequelize: hooks are in the options of the model. */
class Product {
  readonly id = 1;
  static options: { hooks: Record<string, unknown[]> };

  static async update(set: object, _options: object): Promise<unknown> {
    return await send(set);
  }
}

/** As of Mongoose: hooks are in a map of the schema, each with its function. */
class Query {
  model: object;
  op: string;
  _update: object;

  constructor(model: object, op: string, update: object) {
    this.model = model;
    this.op = op;
    this._update = update;
  }

  async exec(): Promise<unknown> {
    return await send((this._update as { $set: object }).$set);
  }
}

const computesGross = (row: { net: number; gross: number }) => {
  row.gross = row.net * 1.19;
};

describe('finding hook-skipped', () => {
  const undo: ((() => void) | null | undefined)[] = [];
  const ask = withFindingsDatabase(
    async (knex) => {
      await knex.raw('create table products (id int, net int, gross int, name text)');
      await knex.raw("insert into products values (1, 1, 1, 'a'), (2, 1, 1, 'b')");
    },
    (app, knex: Knex) => {
      send = async (set) => await knex('products').update(set);
      app.get('/update/:column', async ({ params: { column }, query }, res) => {
        const hook = query.bulk === '1' ? 'beforeBulkUpdate' : 'afterFind';
        Product.options = {
          hooks: { beforeUpdate: [computesGross], beforeCreate: [computesGross], [hook]: [] },
        };
        await Product.update({ [column]: 5 }, { individualHooks: query.each === '1' });
        res.send('done');
      });
      app.get('/mongoose/:column', async ({ params: { column }, query }, res) => {
        const hooks = [{ fn: computesGross }];
        const pres = new Map([
          ['save', hooks],
          ...(query.own === '1' ? [['updateMany', hooks] as const] : []),
        ]);
        const model = { modelName: 'Product', schema: { s: { hooks: { _pres: pres } } } };
        await new Query(model, 'updateMany', { $set: { [column]: 5 } }).exec();
        res.send('done');
      });
    },
  );
  before(() => {
    const of = (library: string) => labelPatches.find(({ name }) => name === library);
    undo.push(of('sequelize')?.patch(Product), of('mongoose')?.patch(Query));
  });
  after(() => undo.forEach((one) => one?.()));

  it('names the hook of the model that uses a field of a bulk write', async () => {
    const [finding] = (await ask('/update/net')).of('hook-skipped');
    expect(finding).to.include({ severity: 'bad', broke: 'unseen', panel: 'database' });
    expect(finding?.sentence).to.equal(
      'Product.update: update products (2 rows) did not run beforeSave of the model, which uses a field that it wrote: a bulk write runs no hooks of instances',
    );
    expect(finding?.place).to.match(/hook-skipped\.test\.ts:\d+$/);
    expect((await ask('/mongoose/net')).of('hook-skipped')[0]?.sentence).to.contain('pre("save")');
  });

  it('ignores fields that no hook uses, hooks that run, and models with one for bulk writes', async () => {
    for (const path of [
      '/update/name',
      '/update/net?each=1',
      '/update/net?bulk=1',
      '/mongoose/name',
      '/mongoose/net?own=1',
    ])
      expect((await ask(path)).of('hook-skipped'), path).to.deep.equal([]);
  });
});
