/** A SET without an expiry that removes the one of the key, with a real Redis and both clients. */
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { draftsOf } from '../support/find-by-rule.ts';
import { withFindingsApp } from '../support/findings-app.ts';
import { withRedis } from '../support/redis.ts';

const PASS = { visitor: 'Ines', doors: ['lobby'], uses: 0 };
const HERE = 'test/findings/expiry-removed\\.test\\.ts:\\d+';

describe('finding expiry-removed', () => {
  const path = withRedis();
  let redis: Redis;
  let node: ReturnType<typeof createClient>;
  const once = async (key: string, change: (pass: typeof PASS) => Promise<unknown>): Promise<boolean> => {
    const text = await redis.get(key);
    if (text !== null) await change({ ...(JSON.parse(text) as typeof PASS), uses: 1 });
    return text !== null;
  };
  const ask = withFindingsApp((app) => {
    app.post('/visits/:id', async (req, res) => {
      await redis.set(`visit:${req.params.id}`, JSON.stringify(PASS), 'PX', Number(req.query.ms ?? 60_000));
      res.sendStatus(201);
    });
    app.post('/enter/:id/:how', async (req, res) => {
      const key = `visit:${req.params.id}`;
      res.json({
        isOpen: await once(key, async (pass) => {
          const text = JSON.stringify(pass);
          if (req.params.how === 'keep') await redis.set(key, text, 'KEEPTTL');
          else if (req.params.how === 'again') await redis.set(key, text, 'EX', 60);
          else if (req.params.how === 'multi') await redis.multi().set(key, text).expire(key, 60).exec();
          else await redis.set(key, text);
        }),
      });
    });
    app.post('/passes/:code', async (req, res) => {
      const key = `pass:${req.params.code}`;
      await node.set(key, JSON.stringify(PASS), { expiration: { type: 'EX', value: 60 } });
      const found = await node.get(key);
      await node.set(key, found ?? '');
      res.sendStatus(201);
    });
  });
  before(async () => {
    redis = new Redis({ path: path() });
    node = createClient({ socket: { path: path(), tls: false } });
    await node.connect();
  });
  after(() => {
    redis?.disconnect();
    node?.destroy();
  });
  const post = async (url: string) => (await ask(url, { method: 'POST' })).of('expiry-removed');

  it('is made of the SET, and of the request that finds the key after its time', async () => {
    expect(await post('/visits/a?ms=2000')).to.deep.equal([]);
    const [finding, ...others] = await post('/enter/a/plain');
    expect(others).to.deep.equal([]);
    expect(finding).to.include({ severity: 'warn', broke: 'unseen', anchor: 'k2' });
    expect(finding?.sentence).to.match(
      new RegExp(
        `^SET stored visit:a again without an expiry, which removed the one of 2\\.00 s that POST /visits/:id \\(\\w+\\) had set at ${HERE}, [\\d.]+ m?s before it ran out: the key never expires$`,
      ),
    );
    await pause(2050);
    const [late, ...more] = await post('/enter/a/plain');
    expect(more).to.deep.equal([]);
    expect(late).to.include({ severity: 'bad', broke: 'response', anchor: 'k1' });
    expect(late?.sentence).to.match(
      new RegExp(
        `^GET found visit:a [\\d.]+ m?s after it should have expired: POST /enter/:id/:how \\(\\w+\\) stored it again without an expiry, which removed the one of 2\\.00 s that POST /visits/:id \\(\\w+\\) had set at ${HERE}$`,
      ),
    );
  });

  it('is made with node-redis, of a key whose values are masked', async () => {
    const [finding] = await post('/passes/481516');
    expect(finding?.sentence).to.match(
      new RegExp(
        `^SET stored pass:\\[masked \\d+, string\\] again without an expiry, which removed the one of 1 min that it had set at ${HERE}, `,
      ),
    );
  });

  it('is not made if the expiry stays, is set again, or had run out', async () => {
    for (const how of ['keep', 'again', 'multi']) {
      await post(`/visits/${how}`);
      expect(await post(`/enter/${how}/${how}`), how).to.deep.equal([]);
      expect(await redis.ttl(`visit:${how}`), how).to.be.greaterThan(0);
    }
    await post('/visits/gone?ms=20');
    await pause(60);
    expect(await post('/enter/gone/plain')).to.deep.equal([]);
    await redis.set('visit:none', JSON.stringify(PASS));
    expect(await post('/enter/none/plain'), 'never had one').to.deep.equal([]);
  });

  it('ignores a value that goes on to another state, is no change of the one read, or was not read', () => {
    const removedExpiry = {
      lifetimeMs: 9000,
      leftMs: 40,
      set: { by: 'a1b2c3', place: 'src/a.ts:5' },
      removed: { by: 'd4e5f6', place: 'src/b.ts:7' },
    };
    const of = (before: string | null, after: string, next: object = { command: 'GET', key: 'other' }) => {
      const items = [
        { command: 'GET', key: 'order:1', hits: 1, startMs: 1, found: { name: 'order:1', value: before } },
        { command: 'SET', key: 'order:1', hits: null, startMs: 3, removedExpiry, args: [{ value: after }] },
        { hits: null, startMs: 5, args: [], ...next },
      ]
        .slice(before === null ? 1 : 0)
        .map((one) => ({ args: [], system: 'redis', durationMs: 1, error: null, ...one }));
      return draftsOf('expiry-removed', { cache: { items } }, { token: 'd4e5f6' }).map(
        ({ sentence }) => sentence,
      );
    };
    const cart = '{"user":7,"items":[4],"total":5}';
    const grown = '{"user":7,"items":[4,9],"total":12}';
    expect(of(cart, grown)).to.deep.equal([
      'SET stored order:1 again without an expiry, which removed the one of 9.00 s that request a1b2c3 had set at src/a.ts:5, 40.0 ms before it ran out: the key never expires',
    ]);
    expect(of('3', '4'), 'a count').to.have.length(1);
    expect(of('[1]', '[1,2]'), 'a list').to.have.length(1);
    for (const [before, after, next] of [
      ['{"status":"pending","sum":5}', '{"status":"paid","sum":5}'],
      ['{"sum":5,"confirmed":false}', '{"sum":5,"confirmed":true}'],
      ['pending', 'done'],
      ['{"lockedBy":3}', '{"result":7}'],
      ['{"sum":5}', '7'],
      [null, grown],
      [cart, grown, { command: 'EXPIRE', key: 'order:1', lifetimeMs: 60_000 }],
      [cart, grown, { command: 'DEL', key: 'order:1' }],
      [cart, grown, { command: 'EVAL', key: 'return 1', args: [{ value: 'order:1' }] }],
    ] as [string | null, string, object?][])
      expect(of(before, after, next), `${before} ${after}`).to.deep.equal([]);
  });
});
