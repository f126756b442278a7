/**
 * Commits of the embedded server do not wait for the disk. Before a process lets go of it, what was committed is brought
 * there: where the whole container is killed right after the service has ended, nothing stored is lost.
 */
import type { EmbeddedConnection } from './index.ts';

const FLUSH_MS = 1000;

/** Rejects where the server does not do it within a second. */
export async function flushCommits(connection: EmbeddedConnection): Promise<void> {
  const { Client } = (await import('pg')).default;
  const client = new Client({ ...connection, connectionTimeoutMillis: FLUSH_MS, query_timeout: FLUSH_MS });
  client.on('error', () => undefined);
  try {
    await client.connect();
    // An empty message in the log of changes, with the flag that waits until the log is on disk.
    await client.query(`select pg_logical_emit_message(false, 'hindsight', '', true)`);
  } finally {
    client.end().catch(() => undefined);
  }
}
