/** Who wrote what a request read: real requests to one application, with a real PostgreSQL and a real Redis. */
import * as bullmq from 'bullmq';
import { expect } from 'chai';
import { load } from 'cheerio';
import express from 'express';
import { Redis } from 'ioredis';
import type { Knex } from 'knex';
import mysql from 'mysql2/promise';
import { bullmqPatch } from '../../app/observe/channels/bullmq.ts';
import type { Profiler } from '../../app/index.ts';
import { urls } from '../../app/urls.ts';
import { type Ask, type Asked, withFindingsApp, withFindingsDatabase } from '../support/findings-app.ts';
import { withMariadb } from '../support/mariadb.ts';
import { withRedis } from '../support/redis.ts';
import { sessionOf, sessions } from '../support/sessions.ts';
import { until } from '../support/waiting.ts';

/** `Last recorded write: PUT /carts/:id (a1b2c3)`, for each step that names another request. */
async function named(ask: Ask, { profile }: Pick<Asked, 'profile'>): Promise<string[]> {
  const page = await ask.page(urls.profile(profile.token, 'overview'));
  const found = page.matchAll(
    /<span class="was">([a-z ]+) <a href="\/_profiler\/([0-9a-f]{6})\?panel=overview"><bdi>(.*?),<\/bdi><\/a><bdi> [\d.,]+ \S+ before(?: \((\S+)\))?<\/bdi>/g,
  );
  return Array.from(found, ([, label, token, name, place]) => {
    expect(name).to.contain(`(${token})`);
    expect(place ?? 'overview-written-by.test.ts:1').to.match(/overview-written-by\.test\.ts:\d+$/);
    return `${label}: ${name}`;
  });
}

const json = (body: unknown): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

describe('the request that wrote a row', () => {
  let database: Knex;
  const ask = withFindingsDatabase(
    (knex) =>
      knex.raw(`
        create table carts (id serial primary key, owner_id int, total int);
        create table keys (id serial primary key, api_key text, uses int);
        insert into keys (api_key, uses) values ('one', 0), ('two', 0);
        create table rooms (id int primary key, zone text);
        insert into rooms values (1, 'Europe/Berlin'), (2, 'Asia/Tokyo'), (3, 'Europe/Berlin');
        create table lessons (id serial primary key, room_id int, starts_at timestamptz, title text)`),
    (app, knex) => {
      database = knex;
      app.use(express.json());
      app.post('/carts', async ({ body }, res) => {
        const [row] = await knex('carts').insert(body).returning<{ id: number }[]>('id');
        res.json(row);
      });
      app.get('/carts/:id', async ({ params: { id } }, res) => {
        const row = await knex('carts').where({ id }).first<{ id: number } | undefined>();
        if (row === undefined) res.sendStatus(404);
        else res.json(row);
      });
      app.get('/owners/:id', async (req, res) => {
        res.json(await knex('carts').where({ owner_id: req.params.id }));
      });
      app.put('/carts/:id', async ({ params: { id } }, res) => {
        await knex('carts').where({ id }).update({ total: 7 });
        res.send('changed');
      });
      app.put('/carts/:id/twice', async ({ params: { id } }, res) => {
        await knex('carts').where({ id }).update({ total: 8 });
        res.json(await knex('carts').where({ id }).first());
      });
      app.put('/carts/:id/not', async ({ params: { id } }, res) => {
        await knex
          .transaction(async (trx) => {
            await trx('carts').where({ id }).update({ total: 9 });
            throw new Error('undone');
          })
          .catch(() => undefined);
        res.send('not changed');
      });
      app.delete('/carts/:id', async ({ params: { id } }, res) => {
        await knex('carts').where({ id }).delete();
        res.send('deleted');
      });
      app.put('/owners/:id', async ({ params: { id } }, res) => {
        await knex('carts').where({ owner_id: id }).update({ total: 1 });
        res.send('all of the owner');
      });
      app.put('/raised', async (_req, res) => {
        await knex.raw('update carts set total = total + 1 where total < 5 or total > 6');
        res.send('some');
      });
      app.put('/keys/:key', async ({ params: { key } }, res) => {
        await knex('keys').where({ api_key: key }).update({ uses: 1 });
        res.send('used');
      });
      const save = async (lessons: readonly object[]): Promise<void> => {
        await knex('lessons').insert(lessons);
      };
      app.post(
        '/lessons',
        async ({ body: { room, from } }: { body: { room: number; from: string } }, res) => {
          await knex('rooms').where({ id: room }).first();
          const weeks = [0, 1, 2, 3].map((week) =>
            new Date(Date.parse(from) + week * 604_800_000).toISOString(),
          );
          await save(weeks.map((starts) => ({ room_id: room, starts_at: starts, title: 'Choir' })));
          res.sendStatus(201);
        },
      );
      app.get('/lessons/:room', async ({ params: { room } }, res) => {
        res.json(await knex('lessons').where({ room_id: room }).limit(1));
      });
      app.get('/counts/:part', async ({ params: { part } }, res) => {
        res.json(await knex(part).count());
      });
      app.get('/plan/:room', async ({ params: { room } }, res) => {
        const lessons = knex('lessons as l').join('rooms as r', 'r.id', 'l.room_id').where('l.room_id', room);
        res.json(
          await lessons
            .where('l.starts_at', '>', '2026-03-20')
            .select('r.id', 'r.zone', 'l.title', 'l.starts_at'),
        );
      });
      app.get('/keys/:key', async ({ params: { key } }, res) => {
        res.json(await knex('keys').select('uses').where({ api_key: key }).first());
      });
    },
  );
  const add = async (owner: number): Promise<{ id: number; token: string }> => {
    const { body, profile } = await ask('/carts', json({ owner_id: owner, total: 0 }));
    return { id: (JSON.parse(body) as { id: number }).id, token: profile.token };
  };
  const put = async (path: string): Promise<string> => (await ask(path, { method: 'PUT' })).profile.token;

  it('is named by the id that it inserted, then by that of its UPDATE, with a link to it and its line', async () => {
    const { id, token } = await add(1);
    expect(await named(ask, await ask(`/carts/${id}`))).to.deep.equal([
      `last recorded write: POST /carts (${token})`,
    ]);
    const changed = await put(`/carts/${id}`);
    await put(`/carts/${(await add(1)).id}`);
    await put(`/carts/${id}/not`);
    const read = await ask(`/carts/${id}`);
    expect(await named(ask, read)).to.deep.equal([`last recorded write: PUT /carts/:id (${changed})`]);
    const markdown = await ask.page(urls.profileMarkdown(read.profile.token));
    expect(markdown)
      .to.match(/\| Last recorded write \|/)
      .and.contain(`PUT /carts/:id (${changed})`);
  });

  it('is named for rows of a list by the column that both name, and by the row that was read', async () => {
    const { id } = await add(2);
    const { token } = await add(2);
    await add(3);
    expect(await named(ask, await ask('/owners/2'))).to.deep.equal([
      `last recorded write: POST /carts (${token})`,
    ]);
    const all = await put('/owners/2');
    await put('/owners/3');
    expect(await named(ask, await ask('/owners/2'))).to.deep.equal([
      `last recorded write: PUT /owners/:id (${all})`,
    ]);
    expect(await named(ask, await ask(`/carts/${id}`))).to.deep.equal([
      `last recorded write: PUT /owners/:id (${all})`,
    ]);
    const one = await put(`/carts/${id}`);
    expect(await named(ask, await ask('/owners/2'))).to.deep.equal([
      `last recorded write: PUT /carts/:id (${one})`,
    ]);
  });

  it('brings the first failure that a finding names', async () => {
    let page = '';
    const leads = async (path: string): Promise<string[]> => {
      const { profile } = await ask(path);
      page = await ask.page(urls.profile(profile.token, 'overview'));
      return Array.from(
        page.matchAll(/<span class="say">found in <a href="([^"]+)"><bdi>(.*?)<\/bdi>/g),
        ([, href, name]) => `${name} ${href}`,
      );
    };
    await ask('/lessons', json({ room: 1, from: '2026-06-02T08:00:00Z' }));
    expect(await leads('/lessons/1')).to.deep.equal([]);
    const { profile } = await ask('/lessons', json({ room: 3, from: '2026-03-17T08:00:00Z' }));
    const failed = [`POST /lessons (${profile.token}) ${urls.profile(profile.token, 'overview')}`];
    expect(await leads('/lessons/3')).to.deep.equal(failed);
    const lines = /overview-written-by\.test\.ts:\d+ → \S*overview-written-by\.test\.ts:\d+/;
    expect(load(page)('.leads').text()).to.match(lines);
    expect(await leads('/counts/lessons'), 'last write to the table').to.deep.equal(failed);
    expect(await leads('/counts/rooms')).to.deep.equal([]);
    const read = await ask('/lessons/3');
    const markdown = await ask.page(urls.profileMarkdown(read.profile.token));
    expect(markdown)
      .to.match(/No finding in this request itself\./)
      .and.match(/hour moved.*09:00 to 10:00.*POST \/lessons/s);
  });

  it('is named for rows of a join with more conditions, by a moment and another value', async () => {
    const { profile } = await ask('/lessons', json({ room: 2, from: '2026-05-05T08:00:00Z' }));
    expect(await named(ask, await ask('/plan/2'))).to.deep.equal([
      `last recorded write: POST /lessons (${profile.token})`,
    ]);
    expect(await named(ask, await ask('/plan/9'))).to.deep.equal([]);
  });

  it('is named if it deleted the row', async () => {
    const { id } = await add(4);
    const { profile } = await ask(`/carts/${id}`, { method: 'DELETE' });
    const missed = await ask(`/carts/${id}`);
    expect(missed.status).to.equal(404);
    expect(await named(ask, missed)).to.deep.equal([`deleted by: DELETE /carts/:id (${profile.token})`]);
  });

  it('is not named if it is this one, nobody, or not certain', async () => {
    const { id } = await add(5);
    expect(await named(ask, await ask(`/carts/${id}/twice`, { method: 'PUT' }))).to.deep.equal([]);
    expect(await named(ask, await ask('/carts/999'))).to.deep.equal([]);
    await put('/raised');
    expect(await named(ask, await ask(`/carts/${id}`))).to.deep.equal([]);
  });

  it('is not named if the row has other values by now: something wrote it that was not recorded', async () => {
    const { id } = await add(6);
    await put(`/carts/${id}`);
    await database('carts').where({ id }).update({ total: 70 });
    expect(await named(ask, await ask(`/carts/${id}`))).to.deep.equal([]);
  });

  it('is not named by values that are masked', async () => {
    await put('/keys/one');
    const read = await ask('/keys/two');
    expect(await ask.page(urls.profile(read.profile.token, 'overview'))).to.contain('[masked');
    expect(await named(ask, read)).to.deep.equal([]);
  });
});

describe('the request that wrote a row whose id only the driver knows', () => {
  const connection = withMariadb();
  let pool: mysql.Pool;
  const ask = withFindingsApp((app) => {
    app.post('/notes', async (_req, res) => {
      const [{ insertId }] = await pool.query<mysql.ResultSetHeader>('insert into notes (text) values (?)', [
        'new',
      ]);
      res.json(insertId);
    });
    app.get('/notes/:id', async (req, res) => {
      const [rows] = await pool.query('select * from notes where id = ?', [req.params.id]);
      res.json(rows);
    });
  });
  before(async () => {
    const { database, ...server } = connection();
    const first = await mysql.createConnection(server);
    await first.query('create database if not exists test');
    await first.end();
    pool = mysql.createPool({ ...server, database, connectionLimit: 1 });
    await pool.query('create table notes (id int primary key auto_increment, text text)');
  });
  after(() => pool?.end());

  it('is named', async () => {
    const { body, profile } = await ask('/notes', { method: 'POST' });
    await ask('/notes', { method: 'POST' });
    expect(await named(ask, await ask(`/notes/${body}`))).to.deep.equal([
      `last recorded write: POST /notes (${profile.token})`,
    ]);
  });
});

describe('the request that linked to an address', () => {
  const ask = withFindingsApp((app) => {
    app.get('/shop', (_req, res) => {
      res.send('<p><a href="/chairs/9?a=1&amp;b=2">Chair</a></p>');
    });
    app.get('/list', (_req, res) => {
      res.json([{ href: '/tables/12' }]);
    });
    app.get('/tables/:id', (_req, res) => {
      res.sendStatus(404);
    });
    app.get('/fine', (_req, res) => {
      res.send('/fine');
    });
  });

  it('is named for one that failed, by the page of its Referer or by the response that had it', async () => {
    const shop = (await ask('/shop')).profile.token;
    const list = (await ask('/list')).profile.token;
    const from = { headers: { referer: `${ask.origin()}/shop` } };
    expect(await named(ask, await ask('/chairs/9?a=1&b=2', from))).to.deep.equal([
      `linked from: GET /shop (${shop})`,
    ]);
    expect(await named(ask, await ask('/tables/12'))).to.deep.equal([`linked from: GET /list (${list})`]);
    expect(await named(ask, await ask('/tables/12', from))).to.deep.equal([`sent from: GET /shop (${shop})`]);
    expect(await named(ask, await ask('/tables/1'))).to.deep.equal([]);
    expect(
      await named(ask, await ask('/tables/12', { headers: { referer: 'https://else.example/shop' } })),
    ).to.deep.equal([]);
    expect(await named(ask, await ask('/fine', from))).to.deep.equal([]);
  });
});

describe('the request that set a key or added a job', () => {
  const path = withRedis();
  let redis: Redis;
  let undo: (() => void) | null;
  let queue: bullmq.Queue;
  let worker: bullmq.Worker;
  let profiler: Profiler;

  const ask = withFindingsApp((app, made) => {
    profiler = made;
    app.get('/prices/:sku', async ({ params: { sku } }, res) => {
      const found = await redis.get(`price:${sku}`);
      if (found !== null) return res.send(found);
      await redis.set(`price:${sku}`, '7', 'EX', 60);
      return res.send('7');
    });
    app.post('/orders', async (_req, res) => {
      await queue.add('confirm', { order: 5 });
      res.send('ordered');
    });
  });
  before(async () => {
    redis = new Redis({ path: path() });
    undo = bullmqPatch.patch(bullmq);
    queue = new bullmq.Queue('orders-of-test', { connection: { path: path() } });
    worker = new bullmq.Worker('orders-of-test', () => Promise.reject(new Error('no printer')), { connection: { path: path(), maxRetriesPerRequest: null } }); // prettier-ignore
  });
  after(async () => {
    await worker?.close();
    await queue?.close();
    redis?.disconnect();
    undo?.();
  });

  it('is named at a hit, and not at a miss', async () => {
    const { profile } = await ask('/prices/a');
    await ask('/prices/b');
    const hit = await ask('/prices/a');
    expect(await named(ask, hit)).to.deep.equal([`last recorded write: GET /prices/:sku (${profile.token})`]);
    expect(await named(ask, { profile })).to.deep.equal([]);
  });

  it('is named on the page of the job', async () => {
    const { profile } = await ask('/orders', { method: 'POST' });
    const jobs = async () =>
      (await profiler.profiles.find({ kinds: ['job'], hasError: true, limit: 10 })).rows;
    await until(async () => (await jobs()).length > 0, 'the job failed');
    const [job] = await jobs();
    expect(await named(ask, { profile: { token: job!.token } as never })).to.deep.equal([
      `added by: POST /orders (${profile.token})`,
    ]);
    const received = load(await ask.page(urls.profile(job!.token, 'overview')))('#received').text();
    expect(received).to.contain('orders-of-test/confirm 1').and.contain('{ order: 5 }');
  });
});

describe('the request that wrote the session', () => {
  const ask = withFindingsApp((app) => {
    app.use(sessions());
    app.post('/basket', (req, res) => {
      sessionOf(req).basket = ['eggs'];
      res.send('filled');
    });
    app.post('/sign-in', (req, res, next) => {
      const { session } = req as unknown as { session: { regenerate(done: (error: unknown) => void): void } };
      session.regenerate((error) => {
        sessionOf(req).userId = 1;
        if (error !== undefined && error !== null) next(error);
        else res.send('done');
      });
    });
    app.get('/basket', (req, res) => {
      res.json(sessionOf(req).basket ?? []);
    });
  });

  /** With one cookie, as far as the responses set it; the tokens of all, and the last one as it was recorded. */
  async function askAll(requests: readonly string[], last: string) {
    let cookie = '';
    const tokens: (string | null)[] = [];
    for (const request of requests) {
      const [method = '', path = ''] = request.split(' ');
      const headers: Record<string, string> = cookie === '' ? {} : { cookie };
      const response = await fetch(`${ask.origin()}${path}`, { method, headers });
      await response.text();
      cookie = response.headers.get('set-cookie')?.split(';', 1)[0] ?? cookie;
      tokens.push(response.headers.get('x-debug-token'));
    }
    return { tokens, asked: await ask(last, { headers: { cookie } }) };
  }

  it('is named where the session is read, with its finding', async () => {
    const { tokens, asked } = await askAll(['POST /basket', 'POST /sign-in', 'GET /basket'], '/basket');
    expect(await named(ask, asked)).to.deep.equal([`last recorded write: POST /sign-in (${tokens[1]})`]);
    const page = load(await ask.page(urls.profile(asked.profile.token, 'overview')));
    expect(page('main').text()).to.contain('session lost').and.contain(`POST /sign-in (${tokens[1]})`);
  });

  it('is the last one that changed it, and none where this request did', async () => {
    const { tokens, asked } = await askAll(['POST /sign-in', 'POST /basket', 'GET /basket'], '/basket');
    expect(await named(ask, asked)).to.deep.equal([`last recorded write: POST /basket (${tokens[1]})`]);
    const alone = await ask('/basket');
    expect(await named(ask, alone)).to.deep.equal([]);
  });
});
