/** Rules about caches, with a real Redis. */
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { urls } from '../../app/urls.ts';
import { withFindingsApp } from '../support/findings-app.ts';
import { withRedis } from '../support/redis.ts';
import { until } from '../support/waiting.ts';
import { draftsOf } from '../support/find-by-rule.ts';

const HERE = /^test\/findings\/cache\.test\.ts:\d+$/;

describe('findings about a cache', () => {
  const path = withRedis();
  let redis: Redis;
  /** Work that a cache is worth. */
  const work = (): Promise<string> => pause(25, 'the result');
  async function cached(key: string, ...lifetime: ['PX', number] | []): Promise<string> {
    const found = await redis.get(key);
    if (found !== null) return found;
    const result = await work();
    if (lifetime.length === 0) await redis.set(key, result);
    else await redis.set(key, result, ...lifetime);
    return result;
  }

  const came: Record<string, number> = {};
  /** Until so many requests have come here. */
  async function met(name: string, count: number): Promise<void> {
    came[name] = (came[name] ?? 0) + 1;
    await until(() => (came[name] ?? 0) >= count, `${count} meet in ${name}`);
    await pause(60);
  }
  const ask = withFindingsApp((app) => {
    app.get('/short', async (_req, res) => {
      // Longer than the value lives, however fast the machine is.
      await pause(15);
      res.send(await cached('short', 'PX', 10));
    });
    app.get('/long', async (_req, res) => res.send(await cached('long', 'PX', 60_000)));
    app.get('/clock', async (_req, res) => res.send(await cached(`report:${Date.now()}:all`, 'PX', 60_000)));
    app.get('/own/:id', async (req, res) => res.send(await cached(`own:${req.params.id}`, 'PX', 60_000)));
    app.get('/swept', async (_req, res) => {
      const result = await cached('swept', 'PX', 60_000);
      await redis.del('swept');
      res.send(result);
    });
    app.get('/absent', async (_req, res) => res.json(await redis.get('revoked:1')));
    app.get('/herd', async (_req, res) => {
      const found = await redis.get('herd');
      if (found === null) await met('herd', 4);
      if (found === null) await redis.set('herd', 'the result', 'PX', 60_000);
      res.send(found);
    });
    app.get('/products/:id', async (req, res) =>
      res.send(await cached(`products:${req.params.id}`, 'PX', 60_000)),
    );
    app.get('/change/:id', async (req, res) => res.json(await redis.del(`product:${req.params.id}`)));
    app.get('/forget/:id', async (req, res) => res.json(await redis.del(`user:${req.params.id}`)));
    app.get(['/me/:key', '/users/:key/:id'], async (req, res) => {
      const id = Number(req.headers['x-user']);
      Object.assign(req, { user: { id, role: 'buyer' } });
      const key = String(req.params.key).replace('mine', `mine:${id}`);
      const text = (await redis.get(key)) ?? JSON.stringify({ id: Number(req.params.id ?? id), total: 7 });
      await redis.set(key, text, 'EX', 60);
      res.type('json').send(text);
    });
    app.get('/keys', async (_req, res) => res.json(await redis.keys('none:*')));
    app.get('/members', async (_req, res) => res.json((await redis.smembers('many')).length));
    app.get('/count', async (_req, res) => {
      const count = Number(await redis.get('count'));
      await met('count', 2);
      await redis.set('count', count + 1, 'EX', 60);
      res.send('counted');
    });
  });
  before(async () => {
    redis = new Redis({ path: path(), keyPrefix: 'caches:' });
    await redis.sadd('many', ...Array.from({ length: 1200 }, (_member, at) => at));
    await redis.set('count', 1);
  });
  after(() => redis?.disconnect());

  it('say that a value was cached for another user', async () => {
    const as = (user: number) => ({ headers: { 'x-user': String(user) } });
    await ask('/me/summary', as(1));
    const [finding] = (await ask('/me/summary', as(2))).of('cache-of-another-user');
    expect(finding?.sentence).to.contain('another id than the user').and.contain('summary names none');
    expect(finding?.place).to.match(HERE);
    for (const path of ['/me/mine', '/users/users:9/9']) {
      await ask(path, as(1));
      expect((await ask(path, as(2))).of('cache-of-another-user'), path).to.deep.equal([]);
    }
    expect((await ask('/me/summary', as(1))).of('cache-of-another-user')).to.deep.equal([]);
  });

  async function last(path: string, times: number) {
    for (let asked = 1; asked < times; asked++) await ask(path);
    return ask(path);
  }

  it('names a lifetime that is shorter than the time between two reads', async () => {
    const { of, profile } = await last('/short', 4);
    const [finding] = of('cache-spares-nothing');
    expect(finding).to.include({ label: 'cache never hits', panel: 'cache', anchor: 'k1', severity: 'warn' });
    expect(finding?.sentence).to.match(
      /^GET found nothing 4 times in a row: it was stored [\d.]+ m?s before at test\/\S+:\d+ for 10\.0 ms, and was read [\d.]+ m?s after the last read; the work after the miss took /,
    );
    expect(finding?.place).to.match(HERE);
    const page = await ask.page(urls.profileMarkdown(profile.token));
    expect(page).to.contain('found nothing 4 times in a row');
    expect(await ask.page(urls.profileMarkdown(profile.token, 'cache')))
      .to.match(/not found, 4 in a row/)
      .and.match(/expires after 10\.0 ms/);
  });

  it('names a key with the time in it, and what deletes a value before it is read', async () => {
    const [clock] = (await last('/clock', 6)).of('cache-spares-nothing');
    expect(clock?.sentence).to.match(
      /^GET found nothing \d+ times in a row: a time in its key is another one each time; the work/,
    );
    const [swept] = (await last('/swept', 4)).of('cache-spares-nothing');
    expect(swept?.sentence).to.match(
      /it was stored [\d.]+ m?s before at \S+:\d+, and deleted since at test\/findings\/cache\.test\.ts:\d+;/,
    );
  });

  it('is silent about a cache that hits, first reads of many keys, and what is meant to be absent', async () => {
    expect((await last('/long', 6)).findings).to.deep.equal([]);
    for (let id = 1; id <= 8; id++)
      expect((await ask(`/own/${id}`)).of('cache-spares-nothing'), String(id)).to.deep.equal([]);
    expect((await last('/absent', 8)).findings).to.deep.equal([]);
  });

  it('counts requests that do the same work at once', async () => {
    const asked = await Promise.all(Array.from({ length: 4 }, () => ask('/herd')));
    const sentences = asked.flatMap(({ of }) => of('cache-stampede')).map(({ sentence }) => sentence);
    expect(sentences).to.have.length(4);
    expect(sentences[0]).to.match(
      /^4 requests missed the same key at the same time, and each did the work after GET again: /,
    );
    expect((await ask('/herd')).findings).to.deep.equal([]);
  });

  it('names the key that a deletion was meant for', async () => {
    await ask('/products/7');
    const [finding] = (await ask('/change/7')).of('cache-not-cleared');
    expect(finding?.sentence).to.match(
      /^DEL found no key to delete, but caches:products:… is stored at test\/findings\/cache\.test\.ts:\d+: reads of it may return the value/,
    );
    const [read] = (await ask('/products/7')).of('cache-not-cleared');
    expect(read?.sentence).to.match(
      /^GET found caches:products:7, which may be old: [\d.]+ m?s before, a deletion at test\/findings\/cache\.test\.ts:\d+ deleted nothing, because it spelled that key/,
    );
    const items = [
      { command: 'DEL', key: 'product:1', similar: { shape: 'products:…', storedBy: null } },
      { command: 'GET', key: 'products:1', missedBy: { ms: 2, place: null } },
    ];
    const found = draftsOf('cache-not-cleared', { cache: { items } });
    expect(found.map(({ sentence }) => sentence)).to.deep.equal([
      'GET found products:1, which may be old: 2.0 ms before, a deletion deleted nothing, because its key is product:1',
    ]);
    await ask('/products/mug');
    expect((await ask('/change/mug')).of('cache-not-cleared')[0]?.sentence).to.contain(
      'but caches:products:mug is stored',
    );
    for (const path of ['/change/mugs', '/change/cup', '/forget/mug'])
      expect((await ask(path)).findings, path).to.deep.equal([]);
    expect((await ask('/change/8')).findings).to.deep.equal([]);
    expect((await ask('/forget/7')).findings).to.deep.equal([]);
  });

  it('names KEYS, and large replies', async () => {
    expect((await ask('/keys')).of('cache-large-reply')[0]?.sentence).to.match(
      /^KEYS looked through all keys of the database and found 0: /,
    );
    expect((await ask('/members')).of('cache-large-reply')[0]?.sentence).to.match(
      /^SMEMBERS replied with 1,200 members: /,
    );
  });

  it('names a key that two requests at once wrote from what each had read', async () => {
    const asked = await Promise.all([ask('/count'), ask('/count')]);
    const pages = await Promise.all(
      asked.map(({ profile }) => ask.page(urls.profileMarkdown(profile.token))),
    );
    for (const page of pages) expect(page).to.match(/wrote (?:over )?the (?:same )?key/);
    expect((await ask('/count')).of('cache-lost-update')).to.deep.equal([]);
  });
});
