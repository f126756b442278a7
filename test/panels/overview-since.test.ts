/** What changed since the last request like this: real requests to one application, with a real PostgreSQL. */
import { expect } from 'chai';
import { load } from 'cheerio';
import { randomUUID } from 'node:crypto';
import { urls } from '../../app/urls.ts';
import { type Asked, withFindingsDatabase } from '../support/findings-app.ts';

describe('since the last request like this', () => {
  let kept: unknown;
  let stored: unknown;
  const ask = withFindingsDatabase(
    (knex) =>
      knex.raw(`
        create table tours (id serial primary key, title text, day text, guide int);
        create table readers (email text primary key, source text);
        insert into readers values ('ada@example.com', 'blog');
        create table items (id serial primary key, name text, price int, password text);
        insert into items (name, price, password) values ('Lamp', 100, 'first secret'), ('Vase', 200, 'second secret')`),
    (app, knex) => {
      app.get('/items', async (_req, res) => {
        res.json({ at: new Date(), id: randomUUID(), items: await knex('items').orderBy('id') });
      });
      app.get('/page', async (_req, res) => {
        const row = await knex('items').where({ id: 1 }).first<{ price: number }>();
        res.send(`<p>Lamp: ${row.price}</p>`);
      });
      app.get('/count', async (_req, res) => {
        const counted = await knex('items').count('* as n');
        kept ??= await knex('items').select('name');
        res.json({ kept, some: counted.length });
      });
      app.get('/list', async ({ query }, res) => {
        const rows = knex('items').select('id').orderBy('id');
        res.json(
          await (query.name === undefined
            ? rows.where('price', '>', 0)
            : rows.where('name', query.name as string)),
        );
      });
      app.get('/stored', async (req, res) => {
        stored ??= await knex('items').select('name', 'price');
        res.status(req.get('x-none') === undefined ? 200 : 404).json(stored);
      });
      app.post('/price/:price', async ({ params }, res) => {
        await knex('items')
          .where({ id: 1 })
          .update({ price: Number(params.price), password: randomUUID() });
        res.json({ id: randomUUID() });
      });
      app.get('/free', async (_req, res) => {
        const busy = knex('tours').select('guide').where({ day: 'monday' });
        res.json(await knex('items').whereNotIn('id', busy).select('id'));
      });
      app.post('/tours', async (_req, res) => {
        const [{ id } = { id: 0 }] = await knex('tours').insert({ title: 'Alps' }).returning<{ id: number }[]>(['id', 'day']); // prettier-ignore
        await knex('tours').where({ id }).update({ day: 'monday' });
        res.json(await knex('tours').where({ id }).first());
      });
      app.get('/sorted', async ({ query }, res) => {
        res.json(await knex('items').where('price', '>', 0).orderBy(query.sort === 'price' ? 'price' : 'id').limit(1)); // prettier-ignore
      });
      let newest = [1, 2, 3];
      app.get('/latest', (_req, res) => {
        res.json({ items: newest.map((id) => ({ id, name: `no. ${id}` })), count: newest.length });
        newest = [3, 4, 5];
      });
      app.get('/named/:name', async ({ params }, res) => {
        const { rows } = await knex.raw<{ rows: object[] }>(
          `select max(i.price) from items i join (tours t join items j on j.id = t.guide) on true where i.name = ?`,
          [params.name],
        );
        res.json([rows, await knex('items').where({ name: params.name }).select('price')]);
      });
      app.get('/readers', async (_req, res) => {
        res.json(await knex('readers').orderBy('email'));
      });
      app.post('/readers', async (_req, res) => {
        await knex.raw(
          'insert into readers (email, source) select email, ? from unnest(?::text[]) as email on conflict do nothing',
          ['shop', ['ada@example.com', 'bob@example.com']],
        );
        res.status(201).end();
      });
      app.post('/named', async (_req, res) => {
        await knex('items').insert(['Fork', 'Plate', 'Glass'].map((name, price) => ({ name, price })));
        await knex('tours').insert({ title: 'Table' });
        res.status(201).end();
      });
      app.post('/items', async (_req, res) => {
        await knex('items').insert({ name: 'Bowl', price: 300, password: 'third secret' });
        res.status(201).json({ id: randomUUID() });
      });
    },
  );

  async function since({ profile }: Asked): Promise<string[]> {
    const $ = load(await ask.page(urls.profile(profile.token, 'overview')));
    return (
      $('#since li')
        .toArray()
        // Each paragraph apart.
        .map((row) =>
          $('p', row)
            .toArray()
            .map((one) => $(one).text().replace(/\s+/g, ' ').trim())
            .join(' '),
        )
        .map((row) => row.replace(/\S+overview-since\.test\.ts:\d+/, 'LINE'))
    );
  }

  it('names changed values, other rows and who wrote between, and no moment, random id or secret', async () => {
    const post = { method: 'POST' };
    expect(await since(await ask('/items'))).to.deep.equal([]);
    expect(await since(await ask('/items'))).to.deep.equal([]);
    await ask('/price/150', post);
    await ask('/items', post);
    const asked = await ask('/items');
    const rows = await since(asked);
    expect(rows[0]).to.match(/^GET \/items [\d.,]+ m?s before$/);
    expect(rows.slice(1)).to.deep.equal([
      'response items[id 1].price: 100 → 150',
      'response items[id 3]: absent → {"id":3,"name":"Bowl","price":300,"password":"[masked 3, st…',
      'select … from items 2 → 3 rows LINE',
      'POST /items wrote items in between: name "Bowl", price 300 LINE',
      'POST /price/150 wrote items in between: price 150, id 1 LINE',
    ]);
    expect(await ask.page(urls.profileMarkdown(asked.profile.token))).to.contain(
      '## Since the last request like this',
    );
  });

  it('names what a cached value spared, and that the response stays', async () => {
    await ask('/count');
    await ask('/items', { method: 'POST' });
    expect((await since(await ask('/count'))).slice(1)).to.deep.equal([
      'select … from items n: "3" → "4" LINE',
      'select … from items did not run this time LINE',
      'response the same',
      'POST /items wrote items in between: name "Bowl", price 300 LINE',
    ]);
  });

  it('counts the items of a list that came and those that went', async () => {
    await ask('/latest');
    expect((await since(await ask('/latest'))).slice(1)).to.deep.equal([
      'response items: 2 new: id 4, 5; 2 gone: id 1, 2',
    ]);
  });

  it('names of several written rows the one that was asked for, and the other tables', async () => {
    await ask('/named/Plate');
    await ask('/named', { method: 'POST' });
    expect((await since(await ask('/named/Plate'))).at(-1)).to.equal(
      'POST /named wrote items in between: name "Plate", price 1, and 2 more rows; also tours LINE',
    );
  });

  it('says that a part of the rows was inserted', async () => {
    await ask('/readers');
    await ask('/readers', { method: 'POST' });
    expect((await since(await ask('/readers'))).at(-1)).to.match(
      /^POST \/readers wrote readers in between: .*"bob@example\.com".*, 1 of 2 rows inserted LINE$/,
    );
  });

  it('names the values of rows of a page that is no JSON', async () => {
    await ask('/page');
    await ask('/price/175', { method: 'POST' });
    const rows = await since(await ask('/page'));
    expect(rows.slice(1, -1)).to.deep.equal(['select … from items price: 150 → 175 LINE']);
    for (const price of [180, 185, 190]) await ask(`/price/${price}`, { method: 'POST' });
    expect((await since(await ask('/page'))).at(-1)).to.equal('more 1 write left out');
  });

  it('names what was asked otherwise, and how its statement differs', async () => {
    await ask('/list');
    expect((await since(await ask('/list?name=Lamp'))).slice(1)).to.deep.equal([
      'request query name: absent → "Lamp"',
      'select … from items "price" > ? → "name" = ? LINE',
    ]);
  });

  it('names a write of the table of a subselect, with what its conditions name, NULL, too', async () => {
    await ask('/free');
    await ask('/tours', { method: 'POST' });
    const rows = await since(await ask('/free'));
    expect(rows.at(-1)).to.equal(
      'POST /tours wrote tours in between: day "monday", guide null, title "Alps" LINE',
    );
    expect(rows.join('\n')).to.match(/select … from items \d → 0 rows LINE/);
  });

  it('names parameters that changed no condition', async () => {
    const ignored = async (url: string): Promise<string[]> =>
      (await since(await ask(url))).filter((row) => row.includes('changed no condition'));
    await ask('/sorted?sort=id');
    expect(await ignored('/sorted?filter[name]=Lamp&max=5&sort=price')).to.deep.equal([
      'request filter[name], max changed no condition',
    ]);
    await ask('/list');
    expect(await ignored('/list?colour=red')).to.deep.equal(['request colour changed no condition']);
    await ask('/list');
    expect(await ignored('/list?name=Lamp')).to.deep.equal([]);
  });

  it('names a write of what an earlier one like it had read', async () => {
    for (const _ of [1, 2]) await ask('/stored');
    await ask('/price/180', { method: 'POST' });
    await ask('/stored', { headers: { 'x-none': '1' } });
    expect((await since(await ask('/stored'))).slice(1)).to.deep.equal([
      'response the same',
      'POST /price/180 wrote items in between: price 180, id 1 LINE',
    ]);
  });

  it('says nothing of requests that write', async () => {
    const post = { method: 'POST' };
    await ask('/items', post);
    expect(await since(await ask('/items', post))).to.deep.equal([]);
  });
});
