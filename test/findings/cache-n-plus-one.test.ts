import { Redis } from 'ioredis';
import { expect } from 'chai';
import { withFindingsApp } from '../support/findings-app.ts';
import { withRedis } from '../support/redis.ts';

describe('finding cache-n-plus-one', () => {
  const path = withRedis();
  let redis: Redis;
  const ids = [1, 2, 3, 4, 5, 6];
  const ask = withFindingsApp((app) => {
    app.get('/in-turn', async (_req, res) => {
      for (const id of ids) await redis.get(`stock:${id}`);
      res.send('done');
    });
    app.get('/lengths', async (_req, res) => {
      for (const id of ids) await redis.llen(`queue:${id}`);
      res.send('done');
    });
    app.get('/at-once', async (_req, res) => {
      await Promise.all(ids.map((id) => redis.get(`stock:${id}`)));
      res.send('done');
    });
    app.get('/few', async (_req, res) => {
      for (const id of ids.slice(2)) await redis.get(`stock:${id}`);
      res.send('done');
    });
  });
  before(() => {
    redis = new Redis({ path: path() });
  });
  after(() => redis?.disconnect());

  it('names the line that reads one key at a time, and what it cost', async () => {
    const { of } = await ask('/in-turn');
    const [finding] = of('cache-n-plus-one');
    expect(finding).to.include({ label: 'N+1', panel: 'cache', anchor: 'r1' });
    expect(finding?.sentence).to.match(
      /^6 × GET of Redis, one after the other: \d+\.\d+ ms \(<?\d+ % of the request\)$/,
    );
    expect(finding?.place).to.match(/^test\/findings\/cache-n-plus-one\.test\.ts:\d+$/);
  });

  it('counts a length as a read', async () => {
    expect((await ask('/lengths')).of('cache-n-plus-one')[0]?.sentence).to.match(/^6 × LLEN of Redis/);
  });

  it('ignores reads that are sent together, and a handful of them', async () => {
    for (const path of ['/at-once', '/few']) {
      const { of, profile } = await ask(path);
      expect(profile.panels.cache?.summary?.count, path).to.be.at.least(4);
      expect(of('cache-n-plus-one'), path).to.deep.equal([]);
    }
  });
});
