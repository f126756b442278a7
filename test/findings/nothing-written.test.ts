import { expect } from 'chai';
import { withFindingsDatabase } from '../support/findings-app.ts';
import { type AskedQuery, keptQueries, keptRequest } from '../support/kept-queries.ts';
import { sentencesOf } from '../support/find-by-rule.ts';

describe('finding nothing-written', () => {
  const ask = withFindingsDatabase(
    async (knex) => {
      await knex.raw('create table products (id int, price int)');
      await knex.raw('insert into products values (1, 10)');
    },
    (app, knex) => {
      app.patch('/forgotten/:id', async (req, res) => {
        const product = (await knex('products').where({ id: req.params.id }).first()) as object;
        res.json(Object.assign(product, { price: 12 }));
      });
      app.patch('/written/:id', async (req, res) => {
        const product: unknown = await knex('products').where({ id: req.params.id }).first();
        await knex('products').where({ id: req.params.id }).update({ price: 12 });
        res.json(product);
      });
      app.patch('/absent/:id', async (req, res) => {
        res.json((await knex('products').where({ id: req.params.id }).first()) ?? null);
      });
      app.post('/search/:id', async (req, res) => {
        res.json(await knex('products').where({ id: req.params.id }));
      });
    },
  );

  it('names a change that was not saved', async () => {
    const [finding] = (await ask('/forgotten/1', { method: 'PATCH' })).of('nothing-written');
    expect(finding?.sentence).to.equal(
      'PATCH answered 200, but no statement wrote anything: only reads ran, such as select … from products',
    );
    expect(finding?.place).to.match(/nothing-written\.test\.ts:13$/);
  });

  it('ignores a change that was written, a row that is not there, and a search', async () => {
    for (const [method, path] of [
      ['PATCH', '/written/1'],
      ['PATCH', '/absent/7'],
      ['POST', '/search/1'],
    ] as const) {
      const { of, status } = await ask(path, { method });
      expect(status).to.equal(200);
      expect(of('nothing-written')).to.deep.equal([]);
    }
  });

  const of = (asked: readonly AskedQuery[], body: object, sent: object, method = 'PUT') => {
    const request = keptRequest({ params: { id: '1' }, body: body as never, sent: sent as never });
    const kept = { database: keptQueries(...asked), request };
    return sentencesOf('nothing-written', kept, { method, status: 200 });
  };

  it('names an insert that left the row as it was, and the values that were sent all the same', () => {
    const insert = (rows: number, conflict = 'ON CONFLICT DO NOTHING') => ({
      sql: `insert into preferences (user_id, channel, enabled) values ($1, $2, $3) ${conflict}`,
      bindings: { user_id: 1, channel: 'email', enabled: false },
      rows,
    });
    const body = { enabled: false };
    expect(of([insert(0)], body, { channel: 'email', enabled: false })).to.deep.equal([
      'insert into preferences (on conflict do nothing) added 0 rows, and nothing else was written, but this request answered 200 with enabled as received: the row that is there keeps its values',
    ]);
    const read = { sql: 'select * from preferences where user_id = $1', bindings: { user_id: 1 } };
    expect(of([insert(0), read], body, body), 'read back').to.deep.equal([]);
    expect(of([insert(0)], body, { firstTime: false })).to.deep.equal([]);
    expect(of([insert(1)], body, body)).to.deep.equal([]);
    expect(of([insert(0)], { channel_id: 'email' }, { channel_id: 'email' }), 'the key').to.deep.equal([]);
  });

  it('names received values that were only sent, unless the row had them', () => {
    const read = (theme: string) => ({
      sql: `SELECT id, settings FROM accounts AS account WHERE account.id = '1';`,
      found: [{ id: 1, settings: { theme } }],
    });
    const body = { theme: 'dark' };
    expect(of([read('light')], body, body, 'PATCH')).to.deep.equal([
      'PATCH answered 200 with theme as received, but no statement wrote anything: only reads ran, such as select … from accounts',
    ]);
    expect(of([read('dark')], body, body, 'PATCH')).to.deep.equal([]);
  });

  it('names received values that an update of the row left out, unless a statement has them', () => {
    const read = (alerts: { weight: number }) => ({
      sql: 'select id, alerts from hives where id = $1',
      bindings: { id: 1 },
      found: [{ id: 1, alerts }],
    });
    const update = (sets: string, bindings = {}) => ({
      sql: `UPDATE hives SET ${sets} WHERE id = $3`,
      bindings: { ...bindings, id: 1 },
      rows: 1,
    });
    const body = { weight: 3 };
    const sent = { id: 1, alerts: { weight: 3 } };
    const unsaved = update("set_by='Iris'");
    expect(of([read({ weight: 5 }), unsaved], body, sent)).to.deep.equal([
      'PUT answered 200 with weight as received, but no statement wrote that: update hives sets other columns, and the row that was read has 5 for weight',
    ]);
    for (const [why, asked] of Object.entries({
      'the row had it': [read({ weight: 3 }), unsaved],
      'it is in the text': [read({ weight: 5 }), update(`alerts='{"weight":3}'`)],
      'it is bound in an object': [read({ weight: 5 }), update('alerts=$1', { alerts: '{"weight":3}' })],
      'it was read again': [read({ weight: 5 }), unsaved, read({ weight: 3 })],
      'another table was read': [{ ...read({ weight: 5 }), sql: 'select * from apiaries' }, unsaved],
    }))
      expect(of(asked, body, sent), why).to.deep.equal([]);
  });
});
