/**
 * The thread that writes profiles into PostgreSQL: a connection of its own, so that neither encoding nor a slow database
 * costs a request anything.
 *
 * In: batches (thread-messages.ts), whose documents are read where they lie until the batch is answered. Out: the tokens
 * that clashed, or what went wrong. One batch after the other; after a failure the connection is made anew. Chores are done
 * beside them, on connections of their own. Loaded as a worker only.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type pg from 'pg';
import { type ChoreOptions, type Chores, createChores } from './chores.ts';
import { createScratch } from './copy-csv.ts';
import { provideNavigator } from './navigator.ts';
import { createPartitionKeeper } from './partitions.ts';
import { createPgPool } from './pg-pool.ts';
import { writeProfiles } from './postgres-write.ts';
import { sessionOf } from './session.ts';
import { unpackRows, type FromThread, type ThreadData, type ToThread } from './thread-messages.ts';
import { failureOf } from './unavailable.ts';

type Settings = Record<string, unknown>;

/** When it is first needed: what is said before has been done by then. */
async function driver(): Promise<typeof pg> {
  return (await import('pg')).default;
}

/** Does chores on connections where the latest of them says. */
function createDesk(options: Omit<ChoreOptions, 'pool'>) {
  let latest: Settings = {};
  const pool = createPgPool({ load: async () => (await driver()).Pool, settings: () => latest });
  const chores = createChores({ ...options, pool: () => pool });
  return {
    run(name: keyof Chores, given: readonly unknown[], settings: Settings): Promise<unknown> {
      latest = settings;
      return (chores[name] as (...values: readonly unknown[]) => Promise<unknown>)(...given);
    },
    end: () => pool.end(),
  };
}

function serve(port: NonNullable<typeof parentPort>, { schema, partitionMs }: ThreadData): void {
  const answer = (message: FromThread): void => {
    port.postMessage(message);
  };
  const say = (sentence: string): void => {
    answer({ type: 'notice', sentence });
  };
  const partitions = createPartitionKeeper({ schema, width: partitionMs, say });
  const scratch = createScratch();
  const desk = createDesk({ schema, partitions, partitionMs, say });
  let client: pg.Client | null = null;
  let last: Promise<void> = Promise.resolve();

  function drop(): void {
    const old = client;
    client = null;
    old?.end().catch(() => undefined);
  }

  async function connected(settings: Settings): Promise<pg.Client> {
    if (client !== null) return client;
    const { Client } = await driver();
    const opened = new Client(settings);
    // An idle connection that breaks is found at the next batch.
    opened.on('error', () => {
      if (client === opened) client = null;
    });
    await opened.connect();
    client = opened;
    return opened;
  }

  async function write({ id, settings, rows }: ToThread & { type: 'write' }): Promise<void> {
    let connecting = true;
    try {
      const session = sessionOf(await connected(settings));
      connecting = false;
      const clashes = await writeProfiles(session, { schema, partitions, scratch }, unpackRows(rows));
      answer({ type: 'written', id, clashes });
    } catch (error) {
      drop();
      answer({ type: 'failed', id, connecting, ...failureOf(error) });
    }
  }

  async function doChore({ id, settings, name, given }: ToThread & { type: 'chore' }): Promise<void> {
    try {
      answer({ type: 'done', id, result: await desk.run(name, given, settings) });
    } catch (error) {
      answer({ type: 'failed', id, connecting: false, ...failureOf(error) });
    }
  }

  port.on('message', (message: ToThread) => {
    if (message.type === 'chore') {
      void doChore(message);
      return;
    }
    last = last.then(async () => {
      if (message.type === 'write') {
        await write(message);
        return;
      }
      await client?.end().catch(() => undefined);
      // Chores that go on have been waited for as long as can be.
      desk.end().catch(() => undefined);
      port.close();
    });
  });
  answer({ type: 'ready' });
}

provideNavigator();
if (parentPort !== null) serve(parentPort, workerData as ThreadData);
