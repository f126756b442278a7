import { expect } from 'chai';
import type { Knex } from 'knex';
import type { Finding } from '../../app/index.ts';
import { urls } from '../../app/urls.ts';
import { withFindingsDatabase } from '../support/findings-app.ts';

async function stockOf(products: Knex.QueryBuilder): Promise<number> {
  const { stock } = await products.first<{ stock: number }>('stock');
  return stock;
}

describe('finding lost-update', () => {
  /** How many requests are between their read and their write; they go on when all of `expected` are. */
  let waiting: (() => void)[] = [];
  let expected = 1;
  function together(): Promise<void> {
    return new Promise((done) => {
      waiting.push(done);
      if (waiting.length < expected) return;
      for (const go of waiting) go();
      waiting = [];
    });
  }

  const ask = withFindingsDatabase(
    async (knex) => {
      await knex.raw('create table products (id int primary key, name text, stock int)');
      await knex.raw("insert into products select n, 'p' || n, 100 from generate_series(1, 9) n");
      await knex.raw('create table coupons (code text, customer int)');
      await knex.raw('create table duties (id int primary key, night text, released boolean default false)');
      await knex.raw("insert into duties select n, 'n' || (n + 1) / 2 from generate_series(1, 10) n");
    },
    (app, knex) => {
      app.post('/buy/:id', async (req, res) => {
        const stock = await stockOf(knex('products').where({ id: req.params.id }));
        await together();
        await knex('products')
          .where({ id: req.params.id })
          .update({ stock: stock - 1 });
        res.send('bought');
      });
      app.post('/decrement/:id', async (req, res) => {
        await knex('products').where({ id: req.params.id }).first('stock');
        await together();
        await knex('products').where({ id: req.params.id }).decrement('stock', 1);
        res.send('bought');
      });
      app.post('/rename/:id/:name', async (req, res) => {
        await knex('products').where({ id: req.params.id }).first();
        await together();
        await knex('products').where({ id: req.params.id }).update({ name: req.params.name });
        res.send('renamed');
      });
      app.post('/locked/:id', async (req, res) => {
        await together();
        await knex.transaction(async (trx) => {
          const stock = await stockOf(trx('products').where({ id: req.params.id }).forUpdate());
          await trx('products')
            .where({ id: req.params.id })
            .update({ stock: stock - 1 });
        });
        res.send('bought');
      });
      app.post('/lock-ended/:id', async (req, res) => {
        await knex.transaction(async (trx) => {
          const { rows } = await knex.raw<{ rows: { stock: number }[] }>(
            'select stock from products where id = ? for update',
            [req.params.id],
          );
          await together();
          await trx('products')
            .where({ id: req.params.id })
            .update({ stock: (rows[0]?.stock ?? 0) - 1 });
        });
        res.send('bought');
      });
      app.post('/release/:night/:id/:how', async (req, res) => {
        const { night, id, how } = req.params;
        const isolationLevel = how === 'serializable' ? how : 'repeatable read';
        const release = async (trx: Knex.Transaction): Promise<void> => {
          const others = trx('duties').where({ night, released: false });
          await (how === 'locked' ? others.forUpdate() : others);
          if (how !== 'locked') await together();
          const change = how === 'renamed' ? { night: 'n9' } : { released: true };
          await trx('duties').where({ id }).update(change);
          if (how === 'undone') throw new Error('not released');
        };
        await knex.transaction(release, { isolationLevel }).catch(() => undefined);
        res.send('released');
      });
      app.post('/redeem/:code/:customer', async (req, res) => {
        const { code, customer } = req.params;
        const used: unknown = await knex('coupons').where({ code }).first();
        await together();
        if (used === undefined) await knex('coupons').insert({ code, customer: Number(customer) });
        res.send('redeemed');
      });
    },
  );

  /** What is found in each, once both are stored. */
  async function foundIn(...paths: string[]): Promise<Finding[][]> {
    return foundBy('lost-update', paths);
  }

  async function foundBy(name: string, paths: readonly string[]): Promise<Finding[][]> {
    expected = paths.length;
    const asked = await Promise.all(paths.map((path) => ask(path, { method: 'POST' })));
    return Promise.all(
      asked.map(async ({ profile }) => {
        const text = await ask.page(urls.profileJson(profile.token));
        const stored = JSON.parse(text) as { profile: { findings: Finding[] } };
        return stored.profile.findings.filter(({ rule }) => rule === name);
      }),
    );
  }

  it('names the column, the other request and the line', async () => {
    const found = (await foundIn('/buy/3', '/buy/3')).flat();
    expect(found).to.have.length(2);
    for (const finding of found) {
      expect(finding).to.include({ label: 'lost update', panel: 'database', broke: 'unseen' });
      expect(finding.sentence)
        .to.match(/POST \/buy\/:id \([0-9a-f]{6}\)/)
        .and.contain('stock');
      expect(finding.place).to.match(/^test\/findings\/lost-update\.test\.ts:\d+$/);
    }
  });

  it('is told instead of what might happen, for the same statement', async () => {
    expect((await foundBy('unlocked-update', ['/buy/6'])).flat()).to.have.length(1);
    expect((await foundBy('unlocked-update', ['/buy/6', '/buy/6'])).flat()).to.deep.equal([]);
  });

  it('counts a lock outside of a transaction for none', async () => {
    const found = (await foundIn('/lock-ended/8', '/lock-ended/8')).flat();
    expect(found).to.have.length(2);
    for (const { sentence } of found) expect(sentence).to.contain('stock');
  });

  it('is silent about other rows, what the database computes, what was received, and rows that are locked', async () => {
    for (const paths of [
      ['/buy/4', '/buy/5'],
      ['/decrement/4', '/decrement/4'],
      ['/rename/4/a', '/rename/4/b'],
      ['/locked/4', '/locked/4'],
      ['/buy/6'],
    ])
      expect((await foundIn(...paths)).flat(), paths.join(' ')).to.deep.equal([]);
  });

  it('tells two that both insert what neither found', async () => {
    const found = (await foundIn('/redeem/summer/1', '/redeem/summer/2')).flat();
    expect(found.map(({ label }) => label)).to.deep.equal(['check then insert', 'check then insert']);
    expect((await foundIn('/redeem/winter/1', '/redeem/spring/2')).flat()).to.deep.equal([]);
  });

  it('names a change of other rows of those that both had read', async () => {
    const found = (await foundBy('write-skew', ['/release/n1/1/now', '/release/n1/2/now'])).flat();
    expect(found).to.have.length(2);
    for (const finding of found) {
      expect(finding).to.include({ label: 'write skew', severity: 'bad', panel: 'database' });
      expect(finding.sentence).to.match(
        /^update duties and POST \/release\/:night\/:id\/:how \([0-9a-f]{6}\) each changed released of another row, after both had read the same rows by it: neither saw the change of the other$/,
      );
      expect(finding.place).to.match(/^test\/findings\/lost-update\.test\.ts:\d+$/);
    }
    for (const paths of [
      ['/release/n2/3/now', '/release/n3/5/now'],
      ['/release/n3/5/serializable', '/release/n3/6/serializable'],
      ['/release/n4/7/undone', '/release/n4/8/undone'],
    ])
      expect((await foundBy('write-skew', paths)).flat(), paths.join()).to.deep.equal([]);
    expect(
      (await foundBy('write-skew', ['/release/n5/9/locked', '/release/n5/10/locked'])).flat(),
    ).to.deep.equal([]);
  });
});
