/**
 * Rows in the CSV form of PostgreSQL's COPY, with control characters where commas and quotes would stand: JSON escapes
 * every control character, so that a document goes out byte for byte as it lies in memory.
 *
 * An index row is text made early (`headOf`); the data of a whole batch is one buffer (`copyData`).
 */
import { COPY_HEADER } from './session.ts';
import type { ColumnValue } from './rows.ts';

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

/** For `Session.copy`: room for its header, then a row for each. */
export function copyData(rows: readonly { head: string; bytes: Uint8Array }[]): Buffer {
  const documents = rows.map(({ bytes }) => storableBytes(bytes));
  let size = COPY_HEADER;
  for (const [i, { head }] of rows.entries())
    size += 3 * head.length + (documents[i]?.length ?? 0) + END_OF_ROW.length;
  const data = Buffer.allocUnsafeSlow(size);
  let at = COPY_HEADER;
  for (const [i, { head }] of rows.entries()) {
    at += data.write(head, at);
    const document = documents[i];
    if (document !== undefined) {
      data.set(document, at);
      at += document.length;
    }
    data.set(END_OF_ROW, at);
    at += END_OF_ROW.length;
  }
  return data.subarray(0, at);
}
