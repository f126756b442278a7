/**
 * One connection for one piece of work: statements with values, transactions, and COPY.
 *
 * In: a client of `pg`, the writer thread's own or one lent by a Knex pool (Knex itself knows no COPY). Out: what the
 * statements give. COPY is spoken over pg's own protocol calls, the ones that pg-copy-streams uses too: a batch is one
 * buffer, so that a stream would only add a package.
 */
import type { Knex } from 'knex';

export interface Session {
  /** Values are written `$1`. */
  query(sql: string, values?: readonly unknown[]): Promise<{ rows: unknown[] }>;
  /** `copy … from stdin` with all of its data in COPY's text form. */
  copy(sql: string, data: Buffer): Promise<void>;
}

/** What is used of pg's connection and client; its types leave COPY out. */
interface WireConnection {
  query(sql: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

interface Copy {
  submit(connection: WireConnection): void;
  handleCopyInResponse(connection: WireConnection): void;
  handleCommandComplete(): void;
  handleReadyForQuery(): void;
  handleError(error: Error): void;
}

export interface PgClient {
  query(copy: Copy): unknown;
  query(sql: string, values?: readonly unknown[]): Promise<unknown>;
}

export function sessionOf(client: PgClient): Session {
  return {
    query: (sql, values) => client.query(sql, values) as Promise<{ rows: unknown[] }>,
    copy: (sql, data) =>
      new Promise<void>((resolve, reject) => {
        client.query({
          submit(connection) {
            connection.query(sql);
          },
          handleCopyInResponse(connection) {
            connection.sendCopyFromChunk(data);
            connection.endCopyFrom();
          },
          handleCommandComplete: () => undefined,
          handleReadyForQuery: resolve,
          handleError: reject,
        });
      }),
  };
}

/** Runs `work` in a transaction whose statements may take `timeoutMs` each. */
export async function inTransaction<T>(
  session: Session,
  timeoutMs: number,
  work: () => Promise<T>,
): Promise<T> {
  await session.query(`begin; set local statement_timeout = ${Math.trunc(timeoutMs)}`);
  let result: T;
  try {
    result = await work();
  } catch (error) {
    await session.query('rollback').catch(() => undefined);
    throw error;
  }
  await session.query('commit');
  return result;
}

/** Knex's own pool; a connection marked so is thrown away instead of being used again. */
interface KnexPool {
  acquireConnection(): Promise<PgClient & { __knex__disposed?: unknown }>;
  releaseConnection(connection: PgClient): Promise<void>;
}

/** Lends a connection of the pool. */
export async function withSession<T>(knex: Knex, work: (session: Session) => Promise<T>): Promise<T> {
  const pool = knex.client as KnexPool;
  const connection = await pool.acquireConnection();
  try {
    return await work(sessionOf(connection));
  } finally {
    await pool.releaseConnection(connection);
  }
}

/** A name as it stands in SQL text. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
