/**
 * One connection for one piece of work: statements with values, transactions, and COPY.
 *
 * In: a client of `pg`, the writer thread's own or one lent by a pool of `pg` or of Knex (which itself knows no COPY).
 * Out: what the statements give. COPY is spoken over pg's own protocol calls, the ones that pg-copy-streams uses too: a batch is one
 * buffer, so that a stream would only add a package.
 */
import type { Knex } from 'knex';

export interface Session {
  /** Values are written `$1`; of several statements in one text, which takes none, the last one's rows. */
  query(sql: string, values?: readonly unknown[]): Promise<{ rows: unknown[] }>;
  /**
   * `copy … from stdin`, perhaps with more statements behind it. `data` is all of it, behind COPY_HEADER bytes that are
   * filled in here.
   */
  copy(sql: string, data: Buffer): Promise<void>;
  /** A text as it stands in SQL. */
  literal(text: string): string;
}

/** Bytes of the message's head before COPY data: its type and a length. */
export const COPY_HEADER = 5;
const COPY_DATA = 'd'.charCodeAt(0);

/** What is used of pg's connection and client; its types leave COPY out. */
interface WireConnection {
  /** pg's own way of sending data copies it into a buffer that grows to the largest batch and stays. */
  stream: { write(data: Buffer): void };
  query(sql: string): void;
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
  escapeLiteral(text: string): string;
}

export function sessionOf(client: PgClient): Session {
  return {
    async query(sql, values) {
      const result = (await client.query(sql, values)) as { rows: unknown[] } | { rows: unknown[] }[];
      return Array.isArray(result) ? (result.at(-1) ?? { rows: [] }) : result;
    },
    literal: (text) => client.escapeLiteral(text),
    copy: (sql, data) =>
      new Promise<void>((resolve, reject) => {
        client.query({
          submit(connection) {
            connection.query(sql);
          },
          handleCopyInResponse(connection) {
            data.writeUInt8(COPY_DATA, 0);
            data.writeInt32BE(data.length - 1, 1);
            connection.stream.write(data);
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
