import express from 'express';
import { expect } from 'chai';
import { withFindingsDatabase } from '../support/findings-app.ts';

describe('finding rights-written', () => {
  const ask = withFindingsDatabase(
    (knex) =>
      knex.raw(
        "create table users (id serial primary key, name text, verified boolean default false, tier text default 'basic', role text default 'user'); insert into users (name) values ('Salma'); insert into users (name, role) values ('Ada', 'admin')",
      ),
    (app, knex) => {
      app.use(express.json(), async (req, _res, next) => {
        Object.assign(req, {
          user: (await knex('users').where({ id: Number(req.query.as ?? 1) }))[0] as object,
        });
        next();
      });
      app.patch(['/me', '/tier'], async (req, res) => {
        await knex('users')
          .where({ id: Number(req.query.as ?? 1) })
          .update(req.body as object);
        res.json({});
      });
    },
  );
  const patch = async (path: string, body: object) =>
    (
      await ask(path, {
        method: 'PATCH',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    ).of('rights-written');

  it('names the rights that a user gave itself', async () => {
    const [finding] = await patch('/me', { name: 'Salma', verified: true, tier: 'pro' });
    expect(finding?.sentence).to.equal(
      'update users wrote verified: true and tier: "pro" of the body into the row of the user who sent it: users give themselves these rights',
    );
  });

  it('ignores values that were so before, an address that names them, and administrators', async () => {
    expect(await patch('/me', { name: 'Salma', role: 'user' })).to.deep.equal([]);
    expect(await patch('/tier', { tier: 'gold' })).to.deep.equal([]);
    expect(await patch('/me?as=2', { verified: true })).to.deep.equal([]);
  });
});
