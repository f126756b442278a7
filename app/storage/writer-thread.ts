/**
 * The thread that writes profiles into PostgreSQL: a connection of its own, so that neither encoding nor a slow database
 * costs a request anything.
 *
 * In: batches (thread-messages.ts), whose documents are read where they lie until the batch is answered. Out: the tokens
 * that clashed, or what went wrong. One batch after the other; after a failure the connection is made anew. Loaded as a
 * worker only.
 */
import { parentPort, workerData } from 'node:worker_threads';
import pg from 'pg';
import { createScratch } from './copy-csv.ts';
import { createPartitionKeeper } from './partitions.ts';
import { writeProfiles } from './postgres-write.ts';
import { sessionOf } from './session.ts';
import { unpackRows, type FromThread, type ThreadData, type ToThread } from './thread-messages.ts';

function serve(port: NonNullable<typeof parentPort>, { schema, partitionMs }: ThreadData): void {
  const answer = (message: FromThread): void => {
    port.postMessage(message);
  };
  const say = (sentence: string): void => {
    answer({ type: 'notice', sentence });
  };
  const partitions = createPartitionKeeper({ schema, width: partitionMs, say });
  const scratch = createScratch();
  let client: pg.Client | null = null;
  let last: Promise<void> = Promise.resolve();

  function drop(): void {
    const old = client;
    client = null;
    old?.end().catch(() => undefined);
  }

  async function connected(settings: Record<string, unknown>): Promise<pg.Client> {
    if (client !== null) return client;
    const opened = new pg.Client(settings);
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
      const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
      answer({
        type: 'failed',
        id,
        message: error instanceof Error ? error.message : String(error),
        connecting,
        ...(typeof code === 'string' ? { code } : {}),
      });
    }
  }

  port.on('message', (message: ToThread) => {
    last = last.then(async () => {
      if (message.type === 'write') {
        await write(message);
        return;
      }
      await client?.end().catch(() => undefined);
      port.close();
    });
  });
  answer({ type: 'ready' });
}

if (parentPort !== null) serve(parentPort, workerData as ThreadData);
