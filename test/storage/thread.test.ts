/** The storage's thread: what happens where it can't be started, ends, or its database goes away and comes back. */
import { expect } from 'chai';
import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { type MessagePort, Worker } from 'node:worker_threads';
import { runProfilerMigrationsAt } from '../../app/database/run-migrations.ts';
import { startWorker } from '../../app/paths.ts';
import type { ProfileStorage } from '../../app/profiler/storage.ts';
import { createPostgresStorage } from '../../app/storage/postgres-profile-storage.ts';
import { serve } from '../../app/storage/postgres-thread.ts';
import { batchOf } from '../../app/storage/postgres-write.ts';
import { createThread } from '../../app/storage/thread.ts';
import { withOwnPostgres } from '../support/postgres.ts';
import { until, WITHIN_MS } from '../support/waiting.ts';
import { profileOf } from './contract.ts';

/** One that never answers, and one that answers anything a little later. */
const mute = 'setInterval(() => undefined, 1000)';
const obliging = `
const { parentPort } = require('node:worker_threads');
parentPort.on('message', (message) => {
  if (message === 'close') parentPort.close();
  else setTimeout(() => parentPort.postMessage({ id: message.id, result: 'done' }), 50);
});
`;
const order = { settings: {}, name: 'readSetting' as const, given: ['paused'] };

function threadOf(...programs: string[]): { thread: ReturnType<typeof createThread>; workers: Worker[] } {
  const workers: Worker[] = [];
  const start = (): Worker => {
    const worker = new Worker(programs[Math.min(workers.length, programs.length - 1)] ?? '', { eval: true });
    workers.push(worker);
    return worker;
  };
  return { thread: createThread(start, () => undefined), workers };
}

async function failureOf(work: Promise<unknown>): Promise<string> {
  const failed: unknown = await work.then(
    () => null,
    (error: unknown) => error,
  );
  expect(failed).to.be.instanceOf(Error);
  return (failed as Error).message;
}

describe("the storage's thread", () => {
  it('fails with the reason where it can not be started', async () => {
    const thread = createThread(
      () => {
        throw new Error('no threads here');
      },
      () => undefined,
    );
    expect(await failureOf(thread.ask(order))).to.equal('no threads here');
    await thread.close(100);
  });

  it('is not started again at once where its module does not load', async () => {
    const { thread, workers } = threadOf('throw new Error("no module")');
    expect(await failureOf(thread.ask(order))).to.match(/has ended: no module/);
    expect(await failureOf(thread.ask(order))).to.match(/has ended: no module/);
    expect(workers).to.have.length(1);
  });

  it('is followed by another one where it ends, which gets what comes then', async () => {
    const { thread, workers } = threadOf(obliging);
    expect(await thread.ask(order)).to.equal('done');
    const asked = failureOf(thread.ask(order));
    await workers[0]?.terminate();
    expect(await asked).to.match(/has ended: exit code 1/);
    expect(await thread.ask(order)).to.equal('done');
    expect(workers).to.have.length(2);
    await thread.close(1000);
  });

  it('answers what it has been asked before it is closed', async () => {
    const { thread } = threadOf(obliging);
    const asked = [thread.ask(order), thread.ask(order)];
    const closed = thread.close(5000);
    expect(await failureOf(thread.ask(order))).to.equal('the storage is closed.');
    await closed;
    expect(await Promise.allSettled(asked)).to.have.length(2);
  });

  it('is ended with what waits where it says nothing', async () => {
    const { thread } = threadOf(mute);
    const asked = failureOf(thread.ask(order));
    await sleep(50);
    await thread.close(100);
    expect(await asked).to.equal('the storage is closed.');
  });

  describe('with a database', () => {
    const server = withOwnPostgres();
    const schema = 'threaded';
    const workers: Worker[] = [];
    let storage: ProfileStorage;
    let asked = 0;

    before(async () => {
      await runProfilerMigrationsAt({ ...server().connection }, schema);
      storage = createPostgresStorage({
        schema,
        connection: () => {
          asked++;
          return Promise.resolve({ ...server().connection });
        },
        start(options) {
          const worker = startWorker('storage/postgres-thread', options);
          workers.push(worker);
          return worker;
        },
      });
    });
    after(() => storage?.close());

    it('gives what the storage gives', async () => {
      await storage.write([profileOf(1), profileOf(2)]);
      await storage.storeShared([{ id: 'a', text: '[]' }]);
      expect(await storage.amend('000001', 'pin', true)).to.equal(true);
      expect((await storage.read('000001'))?.amendments).to.deep.equal({ pin: true });
      expect((await storage.find({ limit: 10, offset: 0 })).total).to.equal(2);
      expect([...(await storage.readShared(['a']))]).to.deep.equal([['a', '[]']]);
      expect((await storage.leaseTokens?.())?.key.length).to.equal(16);
      expect((await storage.formKey?.())?.length).to.equal(32);
      expect(asked).to.equal(1);
    });

    it('gives the memory of a batch back once it is written', async () => {
      const replies: unknown[] = [];
      const port = Object.assign(new EventEmitter(), {
        postMessage: (message: unknown, transferred: unknown) => replies.push([message, transferred]),
        close: () => undefined,
      });
      serve(port as unknown as MessagePort, { schema, partitionMs: 3_600_000, findTimeoutMs: WITHIN_MS });
      const batch = batchOf([profileOf(1)]);
      const settings = { ...server().connection };
      port.emit('message', { id: 1, settings, name: 'write', given: [batch] });
      await until(() => replies.length > 0, 'the batch is written');
      port.emit('message', 'close');
      expect(replies).to.deep.equal([[{ id: 1, result: [] }, [batch.data.buffer]]]);
    });

    it('goes on after it has ended, and after the database was away', async () => {
      await workers[0]?.terminate();
      await storage.write([profileOf(3)]);
      expect(workers).to.have.length(2);
      await server().halt();
      expect(await failureOf(storage.write([profileOf(4)]))).to.match(/can't be read/);
      await server().resume();
      await storage.write([profileOf(4)]);
      expect(workers).to.have.length(2);
      expect(asked).to.be.greaterThan(1);
      expect((await storage.find({ limit: 10, offset: 0 })).total).to.equal(4);
    });
  });
});
