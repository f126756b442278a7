/**
 * A batch in the CSV form of PostgreSQL's COPY, with control characters for delimiter and quote: JSON escapes every control
 * character, so that a document is sent byte for byte. It is spoken over pg's own protocol calls (decision 10).
 */
import type { Client } from './pool.ts';

export type ColumnValue = string | number | null;

const DELIMITER = '\x01';
const QUOTE = '\x02';
const QUOTE_BYTE = 2;
const END_OF_ROW = Buffer.from(`${QUOTE}\n`);

/** Null is an empty field, an empty text a quoted one. */
export const COPY_FORMAT = `(format csv, delimiter E'\\x01', quote E'\\x02', escape E'\\x02', null '')`;

const SPECIAL = /[\0-\x1f]/;

/** PostgreSQL's text holds no U+0000; it becomes its picture U+2400, here as in what is searched for (text.ts). */
function fieldOf(value: ColumnValue): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  if (value !== '' && !SPECIAL.test(value)) return value;
  return QUOTE + value.replaceAll('\0', '\u2400').replaceAll(QUOTE, QUOTE + QUOTE) + QUOTE;
}

/** A row up to its last field, which is a text and opened by its quote. */
export function headOf(values: readonly ColumnValue[]): string {
  let head = '';
  for (const value of values) head += fieldOf(value) + DELIMITER;
  return head + QUOTE;
}

/** What JSON never holds raw, made harmless all the same: one odd document must not cost its batch. */
function storableBytes(bytes: Uint8Array): Uint8Array {
  if (!bytes.includes(QUOTE_BYTE) && !bytes.includes(0)) return bytes;
  const text = Buffer.from(bytes).toString();
  return Buffer.from(text.replaceAll('\0', '\\u0000').replaceAll(QUOTE, QUOTE + QUOTE));
}

/** Bytes of the message's head before COPY data: its type and a length. */
const HEADER_BYTES = 5;
const COPY_DATA = 'd'.charCodeAt(0);

/** Rows as one message of COPY, in memory of its own, and where each of them ends in it. */
export function copyData(rows: readonly { head: string; bytes: Uint8Array }[]): {
  data: Buffer<ArrayBuffer>;
  ends: number[];
} {
  const safe = rows.map(({ head, bytes }) => ({ head, bytes: storableBytes(bytes) }));
  let size = HEADER_BYTES;
  for (const { head, bytes } of safe) size += Buffer.byteLength(head) + bytes.length + END_OF_ROW.length;
  const data = Buffer.allocUnsafeSlow(size);
  let at = HEADER_BYTES;
  const ends = safe.map(({ head, bytes }) => {
    at += data.write(head, at);
    data.set(bytes, at);
    data.set(END_OF_ROW, at + bytes.length);
    return (at += bytes.length + END_OF_ROW.length);
  });
  return { data, ends };
}

/** The same with those rows only whose place in the batch is among `kept`. */
export function partOf(data: Uint8Array, ends: readonly number[], kept: readonly number[]): Uint8Array {
  if (kept.length === ends.length) return data;
  const rows = kept.map((row) => data.subarray(ends[row - 1] ?? HEADER_BYTES, ends[row]));
  return Buffer.concat([Buffer.alloc(HEADER_BYTES), ...rows]);
}

/** What is used of pg's connection; its types leave COPY out. */
interface WireConnection {
  /** pg's own way of sending data copies it into a buffer that grows to the largest batch and stays. */
  stream: { write(data: Uint8Array): void };
  query(sql: string): void;
  endCopyFrom(): void;
}

interface Copy {
  /** Set by pg, whose timeout ends with it. */
  callback?: () => void;
  submit(connection: WireConnection): void;
  handleCopyInResponse(connection: WireConnection): void;
  handleCommandComplete(): void;
  handleReadyForQuery(): void;
  handleError(error: Error): void;
}

/** `sql`: `copy … from stdin`, perhaps with more statements behind it. */
export function copyFrom(client: Client, sql: string, data: Uint8Array): Promise<void> {
  const message = Buffer.from(data.buffer, data.byteOffset, data.length);
  message.writeUInt8(COPY_DATA, 0);
  message.writeInt32BE(data.length - 1, 1);
  return new Promise((resolve, reject) => {
    const copy: Copy = {
      submit(connection) {
        connection.query(sql);
      },
      handleCopyInResponse(connection) {
        connection.stream.write(message);
        connection.endCopyFrom();
      },
      handleCommandComplete: () => undefined,
      handleReadyForQuery() {
        copy.callback?.();
        resolve();
      },
      handleError(error) {
        copy.callback?.();
        reject(error);
      },
    };
    (client as unknown as { query(copy: Copy): void }).query(copy);
  });
}
