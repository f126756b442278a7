/**
 * The thread that writes profiles into PostgreSQL: a connection of its own, so that neither encoding nor a slow database
 * costs a request anything.
 *
 * In: batches as text (an index row each as JSON, and the documents). Out: the tokens that clashed, or what went wrong.
 * One batch after the other; after a failure the connection is made anew. Loaded as a worker only.
 */
import { parentPort, workerData } from 'node:worker_threads';
import pg from 'pg';
import type { ProfileIndex } from '../profiler/profile.ts';
import type { StoredProfile } from '../profiler/storage.ts';
import { createPartitionKeeper } from './partitions.ts';
import { writeProfiles } from './postgres-write.ts';
import { sessionOf } from './session.ts';
import type { FromThread, ThreadData, ToThread } from './thread-messages.ts';

function serve(port: NonNullable<typeof parentPort>, { schema, partitionMs }: ThreadData): void {
  const answer = (message: FromThread): void => {
    port.postMessage(message);
  };
  const say = (sentence: string): void => {
    answer({ type: 'notice', sentence });
  };
  const partitions = createPartitionKeeper({ schema, width: partitionMs, say });
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

  async function write({ id, settings, indexes, documents }: ToThread & { type: 'write' }): Promise<void> {
    try {
      const rows = JSON.parse(indexes) as ProfileIndex[];
      const profiles: StoredProfile[] = rows.map((index, i) => ({ index, document: documents[i] ?? '' }));
      const session = sessionOf(await connected(settings));
      answer({
        type: 'written',
        id,
        clashes: await writeProfiles(session, { schema, partitions }, profiles),
      });
    } catch (error) {
      drop();
      const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
      answer({
        type: 'failed',
        id,
        message: error instanceof Error ? error.message : String(error),
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
}

if (parentPort !== null) serve(parentPort, workerData as ThreadData);
