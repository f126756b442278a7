import { expect } from 'chai';
import { Readable } from 'node:stream';
import { withFindingsDatabase } from '../support/findings-app.ts';

describe('finding loop-not-awaited', () => {
  const ask = withFindingsDatabase(
    (knex) =>
      knex.raw(
        'create table seeds (sku text, grams int check (grams > 0)); create table imports (seeds int)',
      ),
    (app, knex) => {
      const add = (grams: number) => knex.raw('insert into seeds (grams) values (?)', [grams]);
      app.get('/forEach', async (_req, res) => {
        let seeds = 0;
        [1, 2, 0].forEach(async (grams) => {
          await add(grams).catch(() => null);
          seeds++;
        });
        await knex.raw('insert into imports values (?)', [seeds]);
        res.json({ seeds });
      });
      app.get('/stream', async (_req, res) => {
        const grams = Readable.from([1, 2, 3]);
        let seeds = 0;
        const ended = new Promise((done) => grams.on('end', done));
        grams.on('data', async (gram: number) => {
          await add(gram);
          seeds++;
        });
        await ended;
        await knex.raw('insert into imports values (?)', [seeds]);
        res.json({ seeds });
      });
      app.get('/iterated', async (_req, res) => {
        for await (const gram of Readable.from([1, 2, 3])) await add(gram as number);
        await knex.raw('insert into imports values (?)', [3]);
        res.json({ seeds: 3 });
      });
      app.get('/gathered', async (_req, res) => {
        const grams = Readable.from([1, 2, 3]);
        const all: Promise<unknown>[] = [];
        grams.on('data', (gram: number) => all.push(add(gram)));
        await new Promise((done) => grams.on('end', done));
        await Promise.all(all);
        res.json({ seeds: 3 });
      });
      app.get('/all', async (_req, res) => {
        await Promise.all([1, 2, 3].map(add));
        await knex.raw('insert into imports values (?)', [3]);
        res.json({ seeds: 3 });
      });
    },
  );

  it('names the forEach and what did not wait for it, instead of its failure', async () => {
    const { of } = await ask('/forEach');
    const [finding] = of('loop-not-awaited');
    expect(finding?.sentence).to.match(
      /^insert into imports was sent while 3 × insert into seeds still ran: forEach does not wait/,
    );
    expect(finding?.place).to.equal('test/findings/loop-not-awaited.test.ts:15');
    expect(of('failed-statement')).to.deep.equal([]);
    expect(of('write-loop')).to.deep.equal([]);
    for (const path of ['/all', '/iterated', '/gathered'])
      expect((await ask(path)).of('loop-not-awaited'), path).to.deep.equal([]);
  });

  it('names the listener of a stream', async () => {
    const [finding] = (await ask('/stream')).of('loop-not-awaited');
    expect(finding?.sentence).to.match(/still ran: an event emitter does not wait for its async function/);
    expect(finding?.place).to.equal('test/findings/loop-not-awaited.test.ts:26');
  });
});
