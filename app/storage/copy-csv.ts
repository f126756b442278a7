/**
 * Rows in the CSV form of PostgreSQL's COPY, with control characters where commas and quotes would stand: JSON escapes
 * every control character, so that a document goes out byte for byte as it lies in memory.
 *
 * An index row is text made early (`headOf`); the data of a whole batch is one buffer (`copyData`).
 */
import { COPY_HEADER } from './session.ts';

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

/** The buffer of one batch after the other: a new one each time would be half of the collector's work. */
export interface Scratch {
  take(size: number): Buffer;
  /** Once nobody reads it any more. */
  giveBack(buffer: Buffer): void;
}

const SCRATCH_STEP = 256 * 1024;
/** Larger ones are not kept. */
const MOST_SCRATCH = 2 * 1024 * 1024;

export function createScratch(): Scratch {
  let kept: Buffer | null = null;
  return {
    take(size) {
      const found = kept;
      kept = null;
      if (found !== null && found.length >= size) return found;
      return Buffer.allocUnsafeSlow(Math.ceil(size / SCRATCH_STEP) * SCRATCH_STEP);
    },
    giveBack(buffer) {
      if (buffer.length <= MOST_SCRATCH) kept = buffer;
    },
  };
}

interface CopyRow {
  head: string;
  bytes: Uint8Array;
}

/** Bytes for these rows at most: a character of an index row may take three. */
function sizeOf(rows: readonly CopyRow[]): number {
  let size = COPY_HEADER;
  for (const { head, bytes } of rows) size += 3 * head.length + bytes.length + END_OF_ROW.length;
  return size;
}

/** For `Session.copy`: room for its header, then a row for each. `release` lets the memory go. */
export function copyData(rows: readonly CopyRow[], scratch: Scratch): { data: Buffer; release: () => void } {
  const safe = rows.map(({ head, bytes }) => ({ head, bytes: storableBytes(bytes) }));
  const buffer = scratch.take(sizeOf(safe));
  let at = COPY_HEADER;
  for (const { head, bytes } of safe) {
    at += buffer.write(head, at);
    buffer.set(bytes, at);
    at += bytes.length;
    buffer.set(END_OF_ROW, at);
    at += END_OF_ROW.length;
  }
  return {
    data: buffer.subarray(0, at),
    release: () => {
      scratch.giveBack(buffer);
    },
  };
}
