/** Raw COPY, the yardstick of the writer: rows as text on a connection of `pg`, nothing else. */
import type { Client, Connection, Query } from 'pg';
import type { StoredProfile } from '../../app/index.ts';

/** What pg's Query does when the server is ready for data, which its types leave out. */
interface CopyHandler {
  handleCopyInResponse(connection: Connection & CopyWriter): void;
}

interface CopyWriter {
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

const SPECIAL: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** A list stands for none: the made profiles are found no fault with. */
type Column = string | number | null | readonly unknown[];

function fieldOf(value: Column): string {
  if (value === null || typeof value === 'object') return '\\N';
  return String(value).replace(/[\\\n\r\t]/g, (special) => SPECIAL[special] ?? special);
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Names of the columns, as COPY lists them. */
export function columnsOf(profile: StoredProfile): string {
  return [...Object.keys(profile.index).map(snakeCase), 'document'].join(', ');
}

export function linesOf(profiles: readonly StoredProfile[]): Buffer {
  const lines = profiles.map(({ index, document }) =>
    [...(Object.values(index) as Column[]), document].map(fieldOf).join('\t'),
  );
  return Buffer.from(`${lines.join('\n')}\n`);
}

/** `QueryClass` is pg's own; `chunk` goes out once the server has said that it takes it. */
export function copyInto(
  client: Client,
  QueryClass: new (text: string, values: undefined, done: (error: Error | null) => void) => Query,
  sql: string,
  chunk: Buffer,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const query = new QueryClass(sql, undefined, (error) => {
      if (error === null || error === undefined) resolve();
      else reject(error);
    });
    (query as unknown as CopyHandler).handleCopyInResponse = (connection) => {
      connection.sendCopyFromChunk(chunk);
      connection.endCopyFrom();
    };
    client.query(query as never);
  });
}
