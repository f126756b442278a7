/** The thread that writes: what happens where it can't be started, ends, or its database goes away and comes back. */
import { expect } from 'chai';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Knex } from 'knex';
import { runProfilerMigrations } from '../../app/database/run-migrations.ts';
import { startWorker } from '../../app/paths.ts';
import { createPostgresStorage } from '../../app/storage/postgres-profile-storage.ts';
import { writeRowOf } from '../../app/storage/rows.ts';
import type { ThreadData } from '../../app/storage/thread-messages.ts';
import {
  createThreadWriter,
  type ThreadOptions,
  type ThreadWriter,
} from '../../app/storage/thread-writer.ts';
import { openKnex, withDebianPostgres } from '../support/postgres.ts';
import { profileOf } from './contract.ts';
import { until } from '../support/waiting.ts';

const data = { schema: 'threaded', partitionMs: 3_600_000 };

/** Threads that say nothing at all, and that do any chore, slowly. */
const mute = 'setInterval(() => undefined, 1000)';
const obliging = `
const { parentPort } = require('node:worker_threads');
parentPort.postMessage({ type: 'ready' });
parentPort.on('message', ({ type, id }) => {
  if (type === 'close') parentPort.close();
  else setTimeout(() => parentPort.postMessage({ type: 'done', id, result: 'done' }), 300);
});
`;

function writerWith(
  start: ThreadOptions['start'],
  {
    alone = false,
    to = { host: '/nowhere' },
    answerWithinMs,
  }: { alone?: boolean; to?: Record<string, unknown>; answerWithinMs?: number } = {},
): {
  writer: ThreadWriter;
  write: () => Promise<string[] | null>;
  said: string[];
} {
  const said: string[] = [];
  const writer = createThreadWriter({
    start,
    connection: () => Promise.resolve(to),
    data,
    alone,
    ...(answerWithinMs === undefined ? {} : { answerWithinMs }),
    say: (sentence) => said.push(sentence),
  });
  return { writer, write: () => writer.write(() => [writeRowOf(profileOf(1))]), said };
}

/** Starts the real thread, and lets a test wait until it is up. */
function startReal(): {
  start: (given: ThreadData) => Worker;
  up: () => Promise<unknown>;
  threads: Worker[];
  /** How many have said anything yet. */
  answered: () => number;
} {
  let answers = 0;
  const threads: Worker[] = [];
  const messages: Promise<unknown>[] = [];
  return {
    threads,
    start(given) {
      const thread = startWorker('storage/writer-thread', given);
      threads.push(thread);
      messages.push(once(thread, 'message').then(() => answers++));
      return thread;
    },
    up: () => Promise.all(messages),
    answered: () => answers,
  };
}

describe("the writer's thread", () => {
  it('leaves the batch to the caller where it can not be started, and says so once', async () => {
    const { write, said } = writerWith(() => {
      throw new Error('no threads here');
    });
    expect(await write()).to.equal(null);
    expect(await write()).to.equal(null);
    expect(said).to.have.length(1);
    expect(said[0]).to.match(/no threads here/);
  });

  it('leaves batches to the caller where its module does not load, and says so once', async () => {
    const { write, said } = writerWith(() => new Worker('throw new Error("no module")', { eval: true }));
    expect(await write()).to.equal(null);
    await until(() => said.length > 0, 'it is said that the module does not load');
    expect(await write()).to.equal(null);
    expect(said).to.have.length(1);
    expect(said[0]).to.match(/no module/);
  });

  it('is not waited for while it starts', async () => {
    const { start, up, threads, answered } = startReal();
    const { writer, write } = writerWith(start);
    expect(await write()).to.equal(null);
    expect(answered()).to.equal(0);
    expect(threads).to.have.length(1);
    await up();
    await writer.close(1000);
  });

  it('gives up where the caller can connect and it can not', async () => {
    const { start, up, threads } = startReal();
    const { writer, write, said } = writerWith(start);
    await write();
    await up();
    for (let batch = 0; batch < 3; batch++) {
      expect(said).to.deep.equal([]);
      expect(await write()).to.equal(null);
      writer.wroteInstead();
    }
    expect(said).to.have.length(1);
    expect(said[0]).to.match(/no way to the database/);
    expect(await write()).to.equal(null);
    expect(threads).to.have.length(1);
  });

  describe('that is alone', () => {
    it('is waited for while it starts', async () => {
      const { start } = startReal();
      const { writer, write } = writerWith(start, { alone: true });
      const outcome: unknown = await write().catch((error: unknown) => error);
      expect(outcome).to.be.instanceOf(Error);
      expect(outcome).to.include({ code: 'ENOENT' });
      await writer.close(1000);
    });

    it('leaves chores to the caller where no thread can be had', async () => {
      const { writer, said } = writerWith(() => new Worker('throw new Error("no module")', { eval: true }), {
        alone: true,
      });
      expect(await writer.ask('readSetting', ['paused'])).to.equal(null);
      expect(await writer.ask('readSetting', ['paused'])).to.equal(null);
      expect(said).to.have.length(1);
    });

    it('is asked for no chore where it is not', async () => {
      const { writer } = writerWith(() => {
        throw new Error('not to be started');
      });
      expect(await writer.ask('readSetting', ['paused'])).to.equal(null);
    });

    it('is followed by another one where it hangs, whose orders are its own', async () => {
      const threads: Worker[] = [];
      const { writer, write } = writerWith(
        () => {
          const thread = new Worker(threads.length === 0 ? mute : obliging, { eval: true });
          const end = thread.terminate.bind(thread);
          thread.terminate = async () => {
            await sleep(200);
            return end();
          };
          threads.push(thread);
          return thread;
        },
        { alone: true, answerWithinMs: 100 },
      );
      const written = write().catch((error: unknown) => error);
      const chore = writer.ask('readSetting', ['paused']).catch((error: unknown) => error);
      await sleep(150);
      expect(await writer.ask('readSetting', ['paused'])).to.deep.equal({ result: 'done' });
      for (const failed of await Promise.all([written, chore]))
        expect((failed as Error).message).to.match(/did not answer within 0\.1 s/);
      expect(threads).to.have.length(2);
      await writer.close(500);
    });

    it('ends with what waits, also where it does not come up', async () => {
      const { writer, write } = writerWith(() => new Worker(mute, { eval: true }), { alone: true });
      const waiting = [write(), writer.ask('readSetting', ['paused'])].map((work) =>
        work.catch((error: unknown) => error),
      );
      await sleep(50);
      const began = performance.now();
      await writer.close(200);
      expect(performance.now() - began).to.be.below(2000);
      for (const outcome of await Promise.all(waiting))
        expect((outcome as Error).message).to.equal('the storage is closed.');
    });

    it('ends with its chores, also where the database says nothing', async () => {
      const silent = createServer().listen(0, '127.0.0.1');
      await once(silent, 'listening');
      const to = { host: '127.0.0.1', port: (silent.address() as AddressInfo).port };
      const { start, up } = startReal();
      const { writer } = writerWith(start, { alone: true, to });
      const asked = writer.ask('readSetting', ['paused']).catch((error: unknown) => error);
      await up();
      await once(silent, 'connection');
      const began = performance.now();
      await writer.close(200);
      expect(performance.now() - began).to.be.below(3000);
      expect(await asked).to.be.instanceOf(Error);
      silent.close();
    });
  });

  describe('with a database', () => {
    const server = withDebianPostgres();
    let knex: Knex;

    before(async () => {
      knex = openKnex(server().connection);
      await runProfilerMigrations({ knex, schema: data.schema });
    });
    after(() => knex.destroy());

    it('goes on after the thread has ended, and after the database was away', async function () {
      this.timeout(30_000);
      const { start, up, threads } = startReal();
      const storage = createPostgresStorage({
        knex: () => knex,
        schema: data.schema,
        thread: { start, connection: () => Promise.resolve({ ...server().connection }) },
      });
      await storage.write([profileOf(10)]);
      await up();
      await storage.write([profileOf(1)]);
      await threads[0]?.terminate();
      await storage.write([profileOf(2)]);
      await up();
      await storage.write([profileOf(11)]);
      await server().halt();
      const outcome = await storage.write([profileOf(3)]).then(
        () => 'stored',
        () => 'refused',
      );
      await server().resume();
      await storage.write([profileOf(3)]);
      expect(outcome).to.equal('refused');
      expect(threads).to.have.length(2);
      expect(await storage.read('000001')).to.not.equal(null);
      const { rows } = await storage.find({ token: '000003', limit: 1, offset: 0 });
      expect(rows[0]?.url).to.equal('/items/3');
      await storage.close();
    });
  });
});
