/** Locks and sessions in a real Redis. */
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import type { Finding } from '../../app/index.ts';
import { urls } from '../../app/urls.ts';
import { withFindingsApp } from '../support/findings-app.ts';
import { withRedis } from '../support/redis.ts';
import { until } from '../support/waiting.ts';

/** Deletes the lock of its owner only. */
const RELEASE =
  "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";
/** Of the locks that expire. */
const SHORT_MS = 20;

describe('findings lock-expired and session-not-saved', () => {
  const path = withRedis();
  let redis: Redis;
  let isHeld = false;
  let isTaken = false;
  const work = (): Promise<void> => pause(3 * SHORT_MS);

  const ask = withFindingsApp((app) => {
    app.post('/late', async (_req, res) => {
      await redis.set('lock:late', 'me', 'PX', SHORT_MS, 'NX');
      await work();
      res.json(await redis.del('lock:late'));
    });
    app.post('/first', async (_req, res) => {
      await redis.set('lock:both', 'me', 'PX', SHORT_MS, 'NX');
      isHeld = true;
      await until(() => isTaken, 'another request has the lock');
      res.json(await redis.del('lock:both'));
    });
    app.post('/second', async (_req, res) => {
      const take = () => redis.set('lock:both', 'another', 'PX', 60_000, 'NX');
      await until(() => isHeld, 'the first request has the lock');
      await until(async () => (await take()) === 'OK', 'the lock is free');
      isTaken = true;
      res.send('paid');
    });
    app.post('/script', async (_req, res) => {
      await redis.set('lock:script', 'me', 'PX', SHORT_MS, 'NX');
      await work();
      res.json(await redis.eval(RELEASE, 1, 'lock:script', 'me'));
    });
    app.post('/quick', async (_req, res) => {
      await redis.set('lock:quick', 'me', 'PX', 60_000, 'NX');
      res.json(await redis.del('lock:quick'));
    });
    app.post('/renewed', async (_req, res) => {
      await redis.set('lock:renewed', 'me', 'PX', SHORT_MS, 'NX');
      await redis.set('lock:renewed', 'me', 'PX', 60_000);
      await work();
      res.json(await redis.del('lock:renewed'));
    });
    app.post('/session/:option', async (req, res) => {
      const session = JSON.stringify({ cookie: { path: '/' }, user: 1 });
      await redis.call('SET', 'sess:1', session, ...req.params.option.split(' ')).catch(() => undefined);
      res.send('in');
    });
  });

  before(() => {
    redis = new Redis(path());
  });
  after(() => redis?.disconnect());
  const post = (address: string) => ask(address, { method: 'POST' });
  const steady = ({ sentence }: Finding): string =>
    sentence.replace(/(?<=back after )[\d.,]+ m?s/, '60 ms').replace(/\d+(?=, but)/, '9');

  it('names a lock that was given back too late', async () => {
    const found = (await post('/late')).of('lock-expired');
    expect(found.map(steady)).to.deep.equal([
      'The lock lock:late expires after 20.0 ms at test/findings/lock-expired.test.ts:9, but was given back after 60 ms',
    ]);
    expect(found[0]).to.include({ severity: 'warn', broke: 'unseen', anchor: 'k2' });
    expect((await post('/script')).of('lock-expired')).to.have.length(1);
  });

  it('names the request that took it meanwhile, and whose lock was deleted', async () => {
    isHeld = false;
    isTaken = false;
    const [first, second] = await Promise.all([post('/first'), post('/second')]);
    const stored = JSON.parse(await ask.page(urls.profileJson(first.profile.token))) as {
      profile: { findings: Finding[] };
    };
    const found = stored.profile.findings.filter(({ rule }) => rule === 'lock-expired');
    expect(found.map(steady)).to.deep.equal([
      `The lock lock:both expires after 20.0 ms at test/findings/lock-expired.test.ts:9, but was given back after 60 ms; POST /second (${second.profile.token}) took it meanwhile, and DEL deleted that lock: it doesn’t ask whose it is`,
    ]);
    expect(found[0]).to.include({ severity: 'bad' });
  });

  it('ignores a lock that was given back in time, or renewed', async () => {
    for (const address of ['/quick', '/renewed'])
      expect((await post(address)).of('lock-expired'), address).to.deep.equal([]);
  });

  it('names a session that was not saved', async () => {
    const [finding] = (await post('/session/86400')).of('session-not-saved');
    expect(finding).to.include({ severity: 'bad', broke: 'unseen', panel: 'cache', anchor: 'k1' });
    expect(finding?.sentence)
      .to.contain('The session was not saved: SET failed (')
      .and.contain('syntax error');
    expect((await post('/session/EX 60')).of('session-not-saved')).to.deep.equal([]);
  });
});
