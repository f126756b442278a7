/** The thread that writes: what happens where it can't be started, ends, or its database goes away and comes back. */
import { expect } from 'chai';
import { Worker } from 'node:worker_threads';
import type { Knex } from 'knex';
import { runProfilerMigrations } from '../../app/database/run-migrations.ts';
import { startWorker } from '../../app/paths.ts';
import { createPostgresStorage } from '../../app/storage/postgres-profile-storage.ts';
import { createThreadWriter, type ThreadOptions } from '../../app/storage/thread-writer.ts';
import { openKnex, withDebianPostgres } from '../support/postgres.ts';
import { profileOf } from './contract.ts';

const data = { schema: 'threaded', partitionMs: 3_600_000 };

function writerWith(start: ThreadOptions['start']): {
  write: () => Promise<string[] | null>;
  said: string[];
} {
  const said: string[] = [];
  const writer = createThreadWriter({
    start,
    connection: () => Promise.resolve({ host: '/nowhere' }),
    data,
    say: (sentence) => said.push(sentence),
  });
  return { write: () => writer.write([profileOf(1)]), said };
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

  it('leaves the batch to the caller where its module does not load', async () => {
    const { write, said } = writerWith(() => new Worker('throw new Error("no module")', { eval: true }));
    expect(await write()).to.equal(null);
    expect(said).to.have.length(1);
  });

  it('says what the database says', async () => {
    const { write, said } = writerWith((given) => startWorker('storage/writer-thread', given));
    const error: unknown = await write().catch((reason: unknown) => reason);
    expect(error).to.include({ code: 'ENOENT' });
    expect(said).to.deep.equal([]);
  });

  describe('with a database', () => {
    const server = withDebianPostgres();
    const threads: Worker[] = [];
    let knex: Knex;

    before(async () => {
      knex = openKnex(server().connection);
      await runProfilerMigrations({ knex, schema: data.schema });
    });
    after(() => knex.destroy());

    it('goes on after the thread has ended, and after the database was away', async function () {
      this.timeout(30_000);
      const storage = createPostgresStorage({
        knex: () => knex,
        schema: data.schema,
        thread: {
          start: (given) => {
            const thread = startWorker('storage/writer-thread', given);
            threads.push(thread);
            return thread;
          },
          connection: () => Promise.resolve({ ...server().connection }),
        },
      });
      await storage.write([profileOf(1)]);
      await threads[0]?.terminate();
      await storage.write([profileOf(2)]);
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
      expect((await storage.read('000003'))?.index.url).to.equal('/items/3');
      await storage.close();
    });
  });
});
