import { expect } from 'chai';
import type { Knex } from 'knex';
import { withFindingsDatabase } from '../support/findings-app.ts';

describe('finding setting-left', () => {
  const ask = withFindingsDatabase(
    async (knex) => {
      await knex.raw('create table invoices (id int)');
    },
    (app, knex) => {
      const asTenant = async <T>(set: string | null, work: (trx: Knex) => Promise<T>): Promise<T> =>
        knex.transaction(async (trx) => {
          if (set !== null) await trx.raw(set);
          return work(trx);
        });
      const read = (trx: Knex): Promise<unknown> => Promise.resolve(trx('invoices').select());
      app.get('/stays', async (_req, res) => {
        res.json(await asTenant("select set_config('app.tenant', '1', false)", read));
      });
      app.get('/local', async (_req, res) => {
        res.json(await asTenant("select set_config('app.tenant', '2', true)", read));
      });
      app.get('/none', async (_req, res) => {
        res.json(await asTenant(null, read));
      });
    },
  );

  it('names the line that set what another request works with', async () => {
    const first = await ask('/stays');
    expect(first.of('setting-left')).to.deep.equal([]);
    const [finding] = (await ask('/none')).of('setting-left');
    expect(finding?.sentence).to.equal(
      `select … from invoices ran with the app.tenant that an earlier request (${first.profile.token}) had set on this connection`,
    );
    expect(finding?.place).to.match(/setting-left\.test\.ts:13$/);
  });

  it('ignores a request that sets its own', async () => {
    await ask('/stays');
    expect((await ask('/stays')).of('setting-left')).to.deep.equal([]);
    expect((await ask('/local')).of('setting-left')).to.deep.equal([]);
  });
});
