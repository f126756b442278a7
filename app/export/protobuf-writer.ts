/**
 * Writes protobuf (https://protobuf.dev/programming-guides/encoding/) from its end to its beginning, because the length of a message
 * stands before it and is known after it. Short texts and ids are written byte by byte: a call into Node.js costs more than that.
 */
const FIRST_BYTES = 64 * 1024;
/** A larger buffer is not kept for the next message. */
const MOST_KEPT = 2 * 1024 * 1024;
/** UTF-16 units of a text that are written one by one, if they are ASCII. */
const SHORT = 100;

/** https://protobuf.dev/programming-guides/encoding/#structure */
const VARINT = 0;
const FIXED_64 = 1;
const LENGTH_PREFIXED = 2;
const FIXED_32 = 5;

const WORD = 2 ** 32;

type Write<T> = (writer: ProtobufWriter, value: T) => void;

/** Of a digit's character. */
function hexDigit(code: number): number {
  return code < 58 ? code - 48 : (code | 32) - 87;
}

export class ProtobufWriter {
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
  #start = FIRST_BYTES;

  /** What `write` writes, copied. */
  written(write: () => void): Buffer {
    if (this.#bytes.length > MOST_KEPT) this.#bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
    this.#start = this.#bytes.length;
    write();
    return Buffer.from(this.#bytes.subarray(this.#start));
  }

  /** Bytes that are written. */
  get length(): number {
    return this.#bytes.length - this.#start;
  }

  /** Makes room before what is written; returns where it begins. */
  #reserve(count: number): number {
    if (count > this.#start) {
      const length = this.#bytes.length - this.#start;
      const larger = Buffer.allocUnsafeSlow(2 * this.#bytes.length + count);
      larger.set(this.#bytes.subarray(this.#start), larger.length - length);
      this.#start = larger.length - length;
      this.#bytes = larger;
    }
    return (this.#start -= count);
  }

  /** At most 32 bits: lengths and the like. */
  #number(value: number): void {
    const count = value < 0x80 ? 1 : value < 0x4000 ? 2 : value < 0x200000 ? 3 : value < 0x10000000 ? 4 : 5;
    let at = this.#reserve(count);
    for (let rest = value; ; rest >>>= 7) {
      this.#bytes[at++] = rest < 0x80 ? rest : (rest & 0x7f) | 0x80;
      if (rest < 0x80) return;
    }
  }

  #tag(field: number, type: number): void {
    this.#number((field << 3) | type);
  }

  /** Bytes that are protobuf already. */
  bytes(bytes: Uint8Array): void {
    const at = this.#reserve(bytes.length);
    this.#bytes.set(bytes, at);
  }

  varint(field: number, value: number): void {
    this.#number(value);
    this.#tag(field, VARINT);
  }

  /** `value`: a safe integer. */
  int64(field: number, value: number): void {
    if (value >= 0 && value < 2 ** 31) this.#number(value);
    else {
      const bytes: number[] = [];
      let rest = BigInt.asUintN(64, BigInt(value));
      for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
      bytes.push(Number(rest));
      const at = this.#reserve(bytes.length);
      this.#bytes.set(bytes, at);
    }
    this.#tag(field, VARINT);
  }

  #word(value: number, at: number): void {
    for (let index = 0, rest = value | 0; index < 4; index++, rest >>>= 8)
      this.#bytes[at + index] = rest & 0xff;
  }

  fixed32(field: number, value: number): void {
    const at = this.#reserve(4);
    this.#word(value, at);
    this.#tag(field, FIXED_32);
  }

  /** A moment in nanoseconds: whole milliseconds, and nanoseconds after them. By halves of 32 bits, as a BigInt costs ten times as much. */
  fixed64(field: number, ms: number, ns: number): void {
    const lower = (ms % WORD) * 1e6 + ns;
    const at = this.#reserve(8);
    this.#word(lower % WORD, at);
    this.#word(Math.floor(ms / WORD) * 1e6 + Math.floor(lower / WORD), at + 4);
    this.#tag(field, FIXED_64);
  }

  double(field: number, value: number): void {
    const at = this.#reserve(8);
    this.#bytes.writeDoubleLE(value, at);
    this.#tag(field, FIXED_64);
  }

  text(field: number, value: string): void {
    const count = this.#ascii(value) ? value.length : this.#utf8(value);
    this.#number(count);
    this.#tag(field, LENGTH_PREFIXED);
  }

  #ascii(value: string): boolean {
    const { length } = value;
    if (length > SHORT) return false;
    const at = this.#reserve(length);
    const bytes = this.#bytes;
    for (let index = 0; index < length; index++) {
      const code = value.charCodeAt(index);
      if (code > 0x7f) {
        this.#start += length;
        return false;
      }
      bytes[at + index] = code;
    }
    return true;
  }

  #utf8(value: string): number {
    const count = Buffer.byteLength(value);
    const at = this.#reserve(count);
    this.#bytes.write(value, at);
    return count;
  }

  /** `value`: an id in hexadecimal. */
  hex(field: number, value: string): void {
    const count = value.length >> 1;
    const at = this.#reserve(count);
    const bytes = this.#bytes;
    for (let index = 0; index < count; index++)
      bytes[at + index] =
        (hexDigit(value.charCodeAt(2 * index)) << 4) | hexDigit(value.charCodeAt(2 * index + 1));
    this.#number(count);
    this.#tag(field, LENGTH_PREFIXED);
  }

  message<T>(field: number, value: T, write: Write<T>): void {
    const before = this.length;
    write(this, value);
    this.prefix(field, before);
  }

  /** Makes a message of what was written since `length` was `before`. */
  prefix(field: number, before: number): void {
    this.#number(this.length - before);
    this.#tag(field, LENGTH_PREFIXED);
  }

  /** A repeated field. */
  messages<T>(field: number, values: readonly T[], write: Write<T>): void {
    for (let index = values.length - 1; index >= 0; index--) this.message(field, values[index] as T, write);
  }
}
