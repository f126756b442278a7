import { expect } from 'chai';
import type { Knex } from 'knex';
import { withFindingsDatabase } from '../support/findings-app.ts';
import { draftsOf } from '../support/find-by-rule.ts';

describe('finding unended-transaction', () => {
  const left: Knex.Transaction[] = [];
  const ask = withFindingsDatabase(
    (knex) => knex.raw('create table carts (id int)'),
    (app, knex) => {
      app.get('/left', async (_req, res) => {
        const trx = await knex.transaction();
        left.push(trx);
        await trx('carts').insert({ id: 1 });
        res.send('left open');
      });
      app.get('/ended/:how', async (req, res) => {
        const trx = await knex.transaction();
        await trx('carts').insert({ id: 2 });
        await trx.transaction(async (nested) => {
          await nested('carts').insert({ id: 3 });
        });
        await (req.params.how === 'commit' ? trx.commit() : trx.rollback());
        res.send('ended');
      });
    },
  );
  // The pool ends only when all its connections are back.
  afterEach(() => Promise.all(left.splice(0).map((trx) => trx.rollback())));

  it('reports a transaction that was not ended', async () => {
    const [finding] = (await ask('/left')).of('unended-transaction');
    expect(finding).to.include({ label: 'open transaction', severity: 'bad', panel: 'database' });
    expect(finding?.sentence).to.equal(
      'A transaction (1 statement) was neither committed nor rolled back when the response finished',
    );
    expect(finding?.place).to.match(/unended-transaction\.test\.ts:\d+$/);
  });

  it('ignores transactions that were committed or rolled back, nested ones included', async () => {
    for (const how of ['commit', 'rollback']) {
      const { of, profile } = await ask(`/ended/${how}`);
      expect(profile.panels.database?.summary?.count).to.equal(2);
      expect(of('unended-transaction'), how).to.deep.equal([]);
    }
  });

  it('names the first line of own code, as a library may send BEGIN', () => {
    const query = { statement: 0, bindings: [], instance: 'a', group: null, error: null, connection: 'a1' };
    const queries = ['node_modules/knex/lib/client.js:9', 'src/carts.ts:4', 'src/carts.ts:5'].map(
      (caller) => ({ ...query, transaction: 't1', caller }),
    );
    const kept = { database: { statements: [{ sql: 'begin' }], queries } };
    const [finding] = draftsOf('unended-transaction', kept, { state: 'final' });
    expect(finding?.place).to.equal('src/carts.ts:4');
  });

  it('sees an end that was sent in one text with other statements', () => {
    const sent = { statement: 0, bindings: [], instance: 'a', group: null, error: null, connection: 'a1' };
    const queries = [{ ...sent, transaction: 't1', caller: 'src/carts.ts:4' }];
    const statements = [{ sql: 'begin; update carts set id = 2; commit' }];
    const kept = { database: { statements, queries } };
    expect(draftsOf('unended-transaction', kept, { state: 'final' })).to.deep.equal([]);
  });
});
