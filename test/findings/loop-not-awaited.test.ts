import { expect } from 'chai';
import { Readable } from 'node:stream';
import { sentencesOf } from '../support/find-by-rule.ts';
import { withFindingsDatabase } from '../support/findings-app.ts';
import { keptQueries } from '../support/kept-queries.ts';

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
    expect(finding?.place).to.equal('test/findings/loop-not-awaited.test.ts:17');
    expect(of('failed-statement')).to.deep.equal([]);
    expect(of('write-loop')).to.deep.equal([]);
    for (const path of ['/all', '/iterated', '/gathered'])
      expect((await ask(path)).of('loop-not-awaited'), path).to.deep.equal([]);
  });

  it('names the listener of a stream', async () => {
    const [finding] = (await ask('/stream')).of('loop-not-awaited');
    expect(finding?.sentence).to.match(/still ran: an event emitter does not wait for its async function/);
    expect(finding?.place).to.equal('test/findings/loop-not-awaited.test.ts:28');
  });

  it('does not depend on how long the process took between a connection and its statement', () => {
    const sql = 'insert into seeds (grams) values ($1)';
    const add = { sql, caller: 'src/import.ts:2' };
    const asked = keptQueries(add, add, add, {
      sql: 'insert into imports values ($1)',
      caller: 'src/import.ts:9',
    });
    const lines = ["grams.on('data', async (gram) => {", '  await add(gram);'];
    /** By statement: when it was sent, how long it had waited, and how long it took. */
    const found = (...times: readonly (readonly [sent: number, waited: number, took: number])[]) =>
      sentencesOf('loop-not-awaited', {
        request: { response: { headersAtMs: 20 } },
        database: {
          ...asked,
          queries: asked.queries.map((query, at) => {
            const [startMs = 0, waitMs = 0, durationMs = 0] = times[at] ?? [];
            return { ...query, statement: at === 3 ? 3 : 0, startMs, waitMs, durationMs };
          }),
          groups: [{ kind: 'loop', statement: 0, caller: add.caller, members: [0, 1, 2], durationMs: 3 }],
          excerpts: [{ place: add.caller, excerpt: { from: 1, lines } }],
        },
      });
    const name = 'insert into imports was sent while 3 × insert into seeds still ran';
    // All were asked for within a turn, at 1.4 ms and later.
    const busy = found([3, 0.5, 2.3], [3.7, 0.4, 1.7], [4.3, 0.4, 1.2], [4.8, 3.1, 0.6]);
    expect(busy.map((sentence) => sentence.split(':')[0])).to.deep.equal([name]);
    const inTurn = found([2, 1, 1], [3.1, 0.1, 1], [4.2, 0.1, 1], [6, 0.5, 1]);
    expect(inTurn, 'awaited').to.deep.equal([]);
    const before = found([5, 2, 2], [5.1, 2, 2], [5.2, 2, 2], [4, 2, 9]);
    expect(before, 'sent before the loop').to.deep.equal([]);
  });
});
