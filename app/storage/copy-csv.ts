/**
 * Encodes a batch as CSV for PostgreSQL's COPY. Delimiter and quote are control characters: JSON escapes these, so a document is
 * sent byte for byte. COPY uses pg's own protocol calls (decision 10).
 */
import type { Client } from './pool.ts';

export type ColumnValue = string | number | null;

const DELIMITER = '\x01';
const QUOTE = '\x02';
const QUOTE_BYTE = 2;
const END_OF_ROW = Buffer.from(`${QUOTE}\n`);

/** null is an empty field; an empty text is a pair of quotes. */
export const COPY_FORMAT = `(format csv, delimiter E'\\x01', quote E'\\x02', escape E'\\x02', null '')`;

const SPECIAL = /[\0-\x1f]/;

/** PostgreSQL can't store U+0000 in a text. It becomes U+2400, in stored texts and in search terms (text.ts). */
function fieldOf(value: ColumnValue): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  if (value !== '' && !SPECIAL.test(value)) return value;
  return QUOTE + value.replaceAll('\0', '\u2400').replaceAll(QUOTE, QUOTE + QUOTE) + QUOTE;
}

/** A row up to the opening quote of its last field, which is a text. */
export function headOf(values: readonly ColumnValue[]): string {
  let head = '';
  for (const value of values) head += fieldOf(value) + DELIMITER;
  return head + QUOTE;
}

/** Control characters that valid JSON never contains: one invalid document must not make its whole batch fail. */
function storableBytes(bytes: Uint8Array): Uint8Array {
  if (!bytes.includes(QUOTE_BYTE) && !bytes.includes(0)) return bytes;
  const text = Buffer.from(bytes).toString();
  return Buffer.from(text.replaceAll('\0', '\\u0000').replaceAll(QUOTE, QUOTE + QUOTE));
}

/** Bytes before the data of a COPY message: its type and length. */
const HEADER_BYTES = 5;
const COPY_DATA = 'd'.charCodeAt(0);

/** Rows as one COPY message in a separate buffer, and where each row ends in it. */
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

/** The message with only those rows whose index in the batch is in `kept`. */
export function partOf(data: Uint8Array, ends: readonly number[], kept: readonly number[]): Uint8Array {
  if (kept.length === ends.length) return data;
  const rows = kept.map((row) => data.subarray(ends[row - 1] ?? HEADER_BYTES, ends[row]));
  return Buffer.concat([Buffer.alloc(HEADER_BYTES), ...rows]);
}

/** The documents of the rows: JSON has no control characters, so the last delimiter stands before it. */
export function documentsIn(data: Uint8Array, ends: readonly number[]): Uint8Array[] {
  return ends.map((end, row) => {
    const line = data.subarray(ends[row - 1] ?? HEADER_BYTES, end - END_OF_ROW.length);
    return line.subarray(line.lastIndexOf(DELIMITER.charCodeAt(0)) + DELIMITER.length + QUOTE.length);
  });
}

/** The part of pg's connection that COPY needs; its types omit it. */
interface WireConnection {
  /** Written to directly: pg's own method copies data into a buffer that grows to the largest batch and is never freed. */
  stream: { write(data: Uint8Array): void };
  query(sql: string): void;
  endCopyFrom(): void;
}

interface Copy {
  /** Set by pg; calling it clears pg's timeout. */
  callback?: () => void;
  submit(connection: WireConnection): void;
  handleCopyInResponse(connection: WireConnection): void;
  handleCommandComplete(): void;
  handleReadyForQuery(): void;
  handleError(error: Error): void;
}

/** `sql`: `copy … from stdin`, perhaps followed by other statements. */
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
