import { expect } from 'chai';
import { withFindingsDatabase } from '../support/findings-app.ts';

describe('finding failed-statement', () => {
  const ask = withFindingsDatabase(
    (knex) => knex.raw('create table users (email text unique)'),
    (app, knex) => {
      app.get('/swallowed', async (_req, res) => {
        await knex('nowhere').catch(() => []);
        res.send('fine');
      });
      app.get('/thrown', async (_req, res) => {
        res.json(await knex('nowhere'));
      });
      const add = () => knex('users').insert({ email: 'a@b.example' });
      app.get('/taken', async (_req, res) => {
        await add().catch(() => res.status(409).send('taken'));
      });
      app.get('/known', async (_req, res) => {
        await add().catch(() => undefined);
        res.json(await knex('users').where({ email: 'a@b.example' }));
      });
      app.get('/lost', async (_req, res) => {
        await add().catch(() => undefined);
        res.send('fine');
      });
      app.get('/savepoint', async (req, res) => {
        await knex.transaction(async (all) => {
          const one = all.transaction(async (inner) => inner('users').insert({ email: 'a@b.example' }));
          await (req.query.thrown === '1' ? one : one.catch(() => undefined));
        });
        res.send('fine');
      });
      app.get('/fine', async (_req, res) => {
        await knex('users').insert({ email: 'a@b.example' }).onConflict('email').ignore();
        await knex('users').insert({ email: 'a@b.example' }).onConflict('email').ignore();
        res.send('fine');
      });
    },
  );

  it('says that the response hides it', async () => {
    const { of } = await ask('/swallowed');
    const [finding] = of('failed-statement');
    expect(finding).to.include({ label: 'failure ignored', panel: 'database', anchor: 'q1' });
    expect(finding?.sentence).to.equal(
      'select … from nowhere failed (relation "nowhere" does not exist), but this request still answered 200',
    );
  });

  it('names the statement behind a 500', async () => {
    const { of, status } = await ask('/thrown');
    expect(status).to.equal(500);
    expect(of('failed-statement')[0]).to.include({ label: 'query failed' });
  });

  it('ignores what was rolled back to a savepoint, unless the request failed, too', async () => {
    await ask('/fine');
    expect((await ask('/savepoint')).of('failed-statement')).to.deep.equal([]);
    expect((await ask('/savepoint?thrown=1')).of('failed-statement')).to.have.length(1);
  });

  it('ignores a conflict that the statement expects', async () => {
    expect((await ask('/fine')).of('failed-statement')).to.deep.equal([]);
    expect((await ask('/taken')).of('failed-statement'), 'refused').to.deep.equal([]);
    expect((await ask('/known')).of('failed-statement'), 'read instead').to.deep.equal([]);
    expect((await ask('/lost')).of('failed-statement')).to.have.length(1);
  });
});
