/** ioredis and node-redis, each in its current and previous major versions, against a real Redis. */
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { expect } from 'chai';
import { truncateText } from '../../app/profiler/record/plain.ts';
import { createRedactor } from '../../app/profiler/masking/redact.ts';
import { propertiesOf } from '../../app/profiler/record/thrown-value.ts';
import * as ioredis from 'ioredis';
import * as ioredis5 from 'ioredis-5';
import * as redis from 'redis';
import * as redis5 from 'redis-5';
import { observeCache } from '../../app/observe/databases/cache.ts';
import { createCallerFinder } from '../../app/observe/stacks/caller.ts';
import { ioredisPatch } from '../../app/observe/channels/ioredis.ts';
import { redisPatches } from '../../app/observe/channels/redis.ts';
import { type Libraries, watchLibraries } from '../../app/observe/libraries.ts';
import { Context, ContextTracker } from '../../app/profiler/record/context.ts';
import { withRedis } from '../support/redis.ts';
import { unhandledDuring } from '../support/unhandled.ts';

const load = createRequire(import.meta.url);
const ioredis4 = load('ioredis-4') as typeof ioredis.default;
const HERE = /^test\/observe\/cache\.test\.ts:\d+$/;

function newContext(id = 0): Context {
  return new Context({ token: id.toString(16).padStart(6, '0'), kind: 'request' });
}

function linesOf(context: Context): string[] {
  return context.all('cache').map(({ command, key, args }) => {
    const values = args.map(({ name, value }) => (name === null ? value : `${name}=${value}`));
    return [command, key, ...values].join(' ');
  });
}

const KINDS: Readonly<Record<string, unknown>> = {
  date: new Date('2026-07-02T12:00:00.123Z'),
  null: null,
  undefined,
  boolean: true,
  number: -1.5,
  'large number': 2 ** 60,
  bigint: 9007199254740993n,
  text: 'it\'s "quoted" \\ \n\u0001 🎉',
  'empty text': '',
  bytes: Buffer.from('Zoë'),
  'other bytes': Buffer.from([1, 255]),
  'typed array': new Uint8Array([65, 66]),
  object: { a: 1 },
  list: [1, [2]],
  map: new Map([['a', 1]]),
  url: new URL('https://a.example/?b=c'),
  'class that writes itself': { toString: () => 'three', toJSON: () => 'four' },
  'long text': 'x'.repeat(3000),
};

/** What is recorded of a value is what the server got, or the client or the server refused it and the record has the error. */
async function wrongKinds(
  tracker: ContextTracker,
  set: (value: unknown) => Promise<unknown>,
  get: () => Promise<string | null>,
): Promise<string[]> {
  const wrong: string[] = [];
  for (const [kind, value] of Object.entries(KINDS)) {
    const context = newContext();
    const failed = await tracker.run(context, async () => set(value).then(() => false, () => true)); // prettier-ignore
    const [fact] = context.all('cache');
    const shown = fact?.args.at(0)?.value;
    const sent = failed ? null : await get();
    const isOther = shown === '[Buffer, 2 bytes]' && kind === 'other bytes';
    const isRight = failed
      ? fact === undefined || fact.error !== null
      : shown === truncateText(sent ?? '', 300) || isOther;
    if (!isRight) wrong.push(`${kind}: ${shown} for ${sent}, error ${fact?.error}`);
  }
  return wrong;
}

for (const [version, library] of [
  ['6', ioredis],
  ['5', ioredis5 as unknown as typeof ioredis],
  ['4', { default: ioredis4, Redis: ioredis4 } as unknown as typeof ioredis],
] as const)
  describe(`commands of ioredis ${version}`, () => {
    const path = withRedis();
    const tracker = new ContextTracker();
    let undo: (() => void) | null;
    let observation: { close(): void };
    let client: ioredis.Redis;

    before(async () => {
      undo = ioredisPatch.patch(library.default);
      observation = observeCache({ tracker, findCaller: createCallerFinder() });
      client = new library.Redis({ path: path(), db: 2, keyPrefix: `io${version}:` });
      await once(client, 'ready');
      await client.flushdb();
    });
    after(() => {
      client?.disconnect();
      observation?.close();
      undo?.();
    });

    it('tells how long a command waited in the client for its connection', async () => {
      const context = newContext();
      const late = new library.Redis({ path: path(), lazyConnect: true });
      await tracker.run(context, async () => {
        const reply = late.get('nothing');
        // However fast the socket is.
        for (const until = performance.now() + 5; performance.now() < until;);
        await reply;
        await late.get('nothing');
      });
      late.disconnect();
      const [first, second] = context.all('cache').filter(({ command }) => command === 'GET');
      expect(first?.waitMs).to.be.within(1, first?.durationMs ?? 0);
      expect(second).not.to.have.property('waitMs');
    });

    it('records packed values by their size: masking finds no token in them', async () => {
      const context = newContext();
      const packed = Buffer.concat([Buffer.from([0x81, 0xa4]), Buffer.from('nameDghp_0123456789')]);
      await tracker.run(context, async () => {
        await client.set('packed', packed);
        await client.set('text', Buffer.from('Zoë'));
      });
      expect(linesOf(context)).to.deep.equal([
        `SET io${version}:packed packed=[Buffer, ${packed.length} bytes]`,
        `SET io${version}:text text=Zoë`,
      ]);
    });

    it('records command, key with its prefix, values, time, server and line', async () => {
      const context = newContext();
      await tracker.run(context, async () => {
        await client.set('user:1', 'Ada', 'EX', 60);
        expect(await client.get('user:1')).to.equal('Ada');
        await client.hset('cart:1', { sku: 'K-1', password: 'hunter2' });
        await client.hgetall('cart:1');
        await client.mget('user:1', 'user:2');
        await client.get('user:3');
        await new Promise((done) => client.get('user:1', done));
      });
      const p = `io${version}:`;
      expect(linesOf(context)).to.deep.equal([
        `SET ${p}user:1 user:1=Ada user:1=EX user:1=60`,
        `GET ${p}user:1`,
        `HSET ${p}cart:1 sku sku=K-1 password password=hunter2`,
        `HGETALL ${p}cart:1`,
        `MGET ${p}user:1 user:1=user:2`,
        `GET ${p}user:3`,
        `GET ${p}user:1`,
      ]);
      expect(context.all('cache').map(({ asked, hits }) => `${hits}/${asked}`)).to.deep.equal(
        ['null/0', '1/1', 'null/0', '1/1', '1/2', '0/1', '1/1'], // prettier-ignore
      );
      for (const fact of context.all('cache')) {
        expect(fact.caller).to.match(HERE);
        expect(fact.durationMs).to.be.above(0);
        expect(fact).to.include({ client: 'ioredis', error: null, connection: `${path()}/2` });
      }
    });

    it('records each kind of value as the server gets it', async () => {
      const set = async (value: unknown): Promise<unknown> => client.set('kind', value as string);
      expect(await wrongKinds(tracker, set, () => client.get('kind'))).to.deep.equal([]);
    });

    it('gives the commands of pipelines and transactions to the request that made them', async () => {
      const contexts = [newContext(1), newContext(2)];
      const pipeline = client.pipeline();
      contexts.forEach((context, at) => tracker.run(context, () => pipeline.get(`p:${at}`)));
      await pipeline.exec();
      expect(
        contexts.map((each) => each.all('cache').map(({ key, batch }) => `${key} ${batch}`)),
      ).to.deep.equal([[`io${version}:p:0 pipeline`], [`io${version}:p:1 pipeline`]]);
    });

    it('gives the commands of a transaction what EXEC replies to each', async () => {
      const context = newContext();
      await client.set('list-less', 'x');
      await tracker.run(context, async () => {
        const replies = await client
          .multi()
          .set('m', '1')
          .get('m')
          .get('none')
          .lpush('list-less', '1')
          .exec();
        expect(replies?.[1]).to.deep.equal([null, '1']);
        await client.multi({ pipeline: false });
        await client.get('m');
        await client.exec();
        await client.get('m');
      });
      const transaction = context.all('cache');
      expect(
        transaction.map(({ command, batch, hits, error }) =>
          [command, batch ?? 'alone', hits ?? '-', error?.slice(0, 21) ?? ''].join(' ').trim(),
        ),
      ).to.deep.equal([
        'MULTI transaction -',
        'SET transaction -',
        'GET transaction 1',
        'GET transaction 0',
        'LPUSH transaction - ReplyError: WRONGTYPE',
        'EXEC transaction -',
        'MULTI transaction -',
        'GET transaction 1',
        'EXEC transaction -',
        'GET alone 1',
      ]);
      for (const { durationMs } of transaction) expect(durationMs).to.be.above(0);
    });

    it('tells of a transaction that EXEC gave up or refused', async () => {
      const context = newContext();
      const other = new library.Redis({ path: path(), db: 2, keyPrefix: `io${version}:` });
      await tracker.run(context, async () => {
        await client.watch('m');
        await other.set('m', '2');
        expect(await client.multi().get('m').exec()).to.equal(null);
        await client
          .multi()
          .call('nonsense')
          .get('m')
          .exec()
          .catch(() => undefined);
      });
      other.disconnect();
      const told = context
        .all('cache')
        .filter(({ batch, command }) => batch !== null && command !== 'MULTI')
        .map(({ command, hits, error }) => `${command} ${hits} ${error?.split(' ', 3).slice(1).join(' ') ?? 'well'}`); // prettier-ignore
      expect(told).to.deep.equal([
        'GET null One (or',
        'EXEC null well',
        'NONSENSE null ERR unknown',
        'GET null EXECABORT Transaction',
        'EXEC null EXECABORT Transaction',
      ]);
      // What a client tells of itself where it connects is not the application's.
      expect(linesOf(context).filter((line) => line.startsWith('CLIENT'))).to.deep.equal([]);
    });

    it('gives commands that wait for the connection, and those that are pipelined by themselves, to their requests', async () => {
      const options = { db: 2, connectionName: 'carts', readOnly: true, lazyConnect: true };
      const own = new library.Redis({ path: path(), ...options, enableAutoPipelining: true });
      const contexts = Array.from({ length: 30 }, (_, id) => newContext(id));
      try {
        for (const round of [0, 1]) {
          await Promise.all(
            contexts.map((context, id) => tracker.run(context, () => own.get(`auto:${id}:${round}`))),
          );
        }
      } finally {
        own.disconnect();
      }
      contexts.forEach((context, id) => {
        // Nor does any have what the client sent by itself to open the connection.
        expect(context.all('cache').map(({ command, key }) => [command, key])).to.deep.equal([
          ['GET', `auto:${id}:0`],
          ['GET', `auto:${id}:1`],
        ]);
      });
    });

    it('records how a command failed, and leaves alone whether its rejection is handled', async () => {
      const context = newContext();
      const unhandled = await unhandledDuring(async () => {
        await tracker.run(context, async () => {
          await client.lpush('list', 'a');
          const [handled] = await Promise.allSettled([client.get('list')]);
          expect(handled.status).to.equal('rejected');
          void client.get('list');
          await client.ping();
        });
      });
      expect(unhandled).to.have.length(1);
      expect(context.all('cache').map(({ error }) => error?.slice(0, 22) ?? null)).to.deep.equal(
        [null, 'ReplyError: WRONGTYPE ', 'ReplyError: WRONGTYPE ', null], // prettier-ignore
      );
    });

    it('keeps no credentials', async () => {
      const context = newContext();
      await tracker.run(context, () => Promise.allSettled([client.call('AUTH', 'ada', 'opensesame')]));
      const [fact] = context.all('cache');
      const error = Object.assign(new Error('WRONGPASS'), {
        command: { name: 'auth', args: ['ada', 'opensesame'] },
      });
      const properties = propertiesOf(error);
      const kept = createRedactor().tree({ fact, properties, line: 'tried opensesame' }).value;
      expect(JSON.stringify(kept)).to.contain('AUTH').and.contain('ada').and.not.contain('opensesame');
    });
  });

for (const [version, library] of [
  ['6', redis],
  ['5', redis5 as unknown as typeof redis],
  ['4', load('redis-4') as typeof redis],
] as const)
  describe(`commands of node-redis ${version}`, () => {
    const path = withRedis();
    const tracker = new ContextTracker();
    let libraries: Libraries;
    let observation: { close(): void };
    let client: ReturnType<typeof redis.createClient>;

    before(async () => {
      libraries = watchLibraries(redisPatches);
      observation = observeCache({ tracker, findCaller: createCallerFinder() });
      client = library.createClient({ socket: { path: path(), tls: false }, database: 3 });
      await client.connect();
      await client.flushDb();
    });
    after(() => {
      // Version 4 names it so.
      if (version === '4')
        void (client as unknown as { disconnect(): Promise<void> } | undefined)?.disconnect();
      else client?.destroy();
      observation?.close();
      libraries?.close();
    });

    it('records command, key, values, time, server and line', async () => {
      const context = newContext();
      await tracker.run(context, async () => {
        await client.set('user:1', 'Ada');
        expect(await client.get('user:1')).to.equal('Ada');
        await client.hSet('cart:1', { sku: 'K-1', password: 'hunter2' });
        await client.hGetAll('cart:1');
        await client.hGetAll('cart:2');
        await client.mGet(['user:1', 'user:2']);
        await client.get('user:3');
        await client.sendCommand(['HGET', 'cart:1', 'sku']);
      });
      expect(linesOf(context)).to.deep.equal([
        'SET user:1 user:1=Ada',
        'GET user:1',
        'HSET cart:1 sku sku=K-1 password password=hunter2',
        'HGETALL cart:1',
        'HGETALL cart:2',
        'MGET user:1 user:1=user:2',
        'GET user:3',
        'HGET cart:1 cart:1=sku',
      ]);
      expect(context.all('cache').map(({ asked, hits }) => `${hits}/${asked}`)).to.deep.equal(
        ['null/0', '1/1', 'null/0', '1/1', '0/1', '1/2', '0/1', '1/1'], // prettier-ignore
      );
      for (const fact of context.all('cache')) {
        expect(fact.caller).to.match(HERE);
        expect(fact.durationMs).to.be.above(0);
        expect(fact).to.include({ client: 'redis', error: null, connection: version === '4' ? null : `${path()}/3` }); // prettier-ignore
      }
    });

    it('records each kind of value as the server gets it', async () => {
      const set = async (value: unknown): Promise<unknown> => client.set('kind', value as string);
      expect(await wrongKinds(tracker, set, () => client.get('kind'))).to.deep.equal([]);
    });

    it('records each command of a transaction and of a pipeline', async () => {
      const context = newContext();
      await tracker.run(context, async () => {
        await client.multi().set('m', '1').get('m').exec();
        await client.multi().get('m').get('n').execAsPipeline();
      });
      expect(
        context.all('cache').map(({ command, key, batch, hits }) => `${command} ${key} ${batch} ${hits}`),
      ).to.deep.equal(
        ['SET m transaction null', 'GET m transaction 1', 'GET m pipeline 1', 'GET n pipeline 0'], // prettier-ignore
      );
      for (const { caller } of context.all('cache')) expect(caller).to.match(HERE);
    });

    it('keeps requests that run at once apart', async () => {
      const contexts = Array.from({ length: 30 }, (_, id) => newContext(id));
      await Promise.all(
        contexts.map((context, id) =>
          tracker.run(context, async () => {
            await client.get(`a:${id}`);
            await client.set(`b:${id}`, 'x');
          }),
        ),
      );
      contexts.forEach((context, id) => {
        expect(context.all('cache').map(({ key }) => key)).to.deep.equal([`a:${id}`, `b:${id}`]);
      });
    });

    if (version !== '4')
      it('gives the tasks of a pool to the requests that asked, however long they waited', async () => {
        const socket = { path: path(), tls: false as const };
        const pool = library.createClientPool({ socket }, { minimum: 1, maximum: 1 });
        await pool.connect();
        const contexts = Array.from({ length: 10 }, (_, id) => newContext(id));
        await Promise.all(
          contexts.map((context, id) =>
            tracker.run(context, async () => {
              await pool.get(`a:${id}`);
              await pool.execute((one) => one.get(`b:${id}`));
            }),
          ),
        );
        pool.destroy();
        contexts.forEach((context, id) => {
          expect(context.all('cache').map(({ key }) => key)).to.deep.equal([`a:${id}`, `b:${id}`]);
        });
      });

    it('records how a command failed, and leaves alone whether its rejection is handled', async () => {
      const context = newContext();
      const unhandled = await unhandledDuring(async () => {
        await tracker.run(context, async () => {
          await client.lPush('list', 'a');
          const [handled] = await Promise.allSettled([client.get('list')]);
          expect(handled.status).to.equal('rejected');
          void client.sendCommand(['GET', 'list']);
          await client.ping();
        });
      });
      expect(unhandled).to.have.length(1);
      const errors = context.all('cache').map(({ error }) => error?.replace(/ Operation.*/, '') ?? null);
      expect(errors[1]).to.match(/WRONGTYPE/);
      expect(errors[2]).to.equal(errors[1]);
    });
  });
