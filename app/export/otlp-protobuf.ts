/**
 * Messages of OTLP in protobuf, written by tables of fields from the same objects that are sent as JSON. Numbers and types are those of
 * opentelemetry-proto 1.x; a field that an object does not have is not written.
 */
import type { LogsData, TracesData } from './otlp-model.ts';

/** `varint`: also of a text or a boolean. */
type Scalar = 'varint' | 'fixed64' | 'double' | 'utf8' | 'hex' | 'fixed32';
/** Its number, and its type or the fields of its message. */
type Field = readonly [number: number, type: Scalar | { readonly [name: string]: Field }];
type Message = Readonly<Record<string, Field>>;

const ANY_VALUE: Message = {
  stringValue: [1, 'utf8'],
  boolValue: [2, 'varint'],
  intValue: [3, 'varint'],
  doubleValue: [4, 'double'],
  // Getters, because values contain values.
  get arrayValue(): [number, Message] {
    return [5, { values: [1, ANY_VALUE] }];
  },
  get kvlistValue(): [number, Message] {
    return [6, { values: [1, KEY_VALUE] }];
  },
};
const KEY_VALUE: Message = { key: [1, 'utf8'], value: [2, ANY_VALUE] };
const RESOURCE: Message = { attributes: [1, KEY_VALUE] };
const SCOPE: Message = { name: [1, 'utf8'], version: [2, 'utf8'] };
const EVENT: Message = { timeUnixNano: [1, 'fixed64'], name: [2, 'utf8'], attributes: [3, KEY_VALUE] };
const SPAN: Message = {
  traceId: [1, 'hex'],
  spanId: [2, 'hex'],
  traceState: [3, 'utf8'],
  parentSpanId: [4, 'hex'],
  name: [5, 'utf8'],
  kind: [6, 'varint'],
  startTimeUnixNano: [7, 'fixed64'],
  endTimeUnixNano: [8, 'fixed64'],
  attributes: [9, KEY_VALUE],
  events: [11, EVENT],
  status: [15, { message: [2, 'utf8'], code: [3, 'varint'] }],
  flags: [16, 'fixed32'],
};
const LOG_RECORD: Message = {
  timeUnixNano: [1, 'fixed64'],
  severityNumber: [2, 'varint'],
  severityText: [3, 'utf8'],
  body: [5, ANY_VALUE],
  attributes: [6, KEY_VALUE],
  flags: [8, 'fixed32'],
  traceId: [9, 'hex'],
  spanId: [10, 'hex'],
  observedTimeUnixNano: [11, 'fixed64'],
};
const SCOPE_SPANS: Message = { scope: [1, SCOPE], spans: [2, SPAN], schemaUrl: [3, 'utf8'] };
const SCOPE_LOGS: Message = { scope: [1, SCOPE], logRecords: [2, LOG_RECORD], schemaUrl: [3, 'utf8'] };
/** Of both requests: spans and log records are field 1 of their own message. */
const EXPORT: Message = {
  resourceSpans: [1, { resource: [1, RESOURCE], scopeSpans: [2, SCOPE_SPANS] }],
  resourceLogs: [1, { resource: [1, RESOURCE], scopeLogs: [2, SCOPE_LOGS] }],
};

/** https://protobuf.dev/programming-guides/encoding/#structure */
const WIRE_TYPES = { varint: 0, fixed64: 1, double: 1, utf8: 2, hex: 2, fixed32: 5 } as const;
const LENGTH_PREFIXED = 2;
const FIXED_BYTES = { fixed32: 4, fixed64: 8, double: 8 } as const;
const FIRST_BYTES = 64 * 1024;

/** Written from its end to its beginning: the length of a message stands before it, and is known after it. */
class BackwardWriter {
  #bytes = Buffer.allocUnsafe(FIRST_BYTES);
  #start = FIRST_BYTES;

  get length(): number {
    return this.#bytes.length - this.#start;
  }

  get written(): Buffer {
    return this.#bytes.subarray(this.#start);
  }

  /** Makes room before what is written; returns where it begins. */
  #reserve(count: number): number {
    if (count > this.#start) {
      const larger = Buffer.allocUnsafe(2 * this.#bytes.length + count);
      larger.set(this.written, larger.length - this.length);
      this.#start = larger.length - this.length;
      this.#bytes = larger;
    }
    return (this.#start -= count);
  }

  /** At most 31 bits: lengths and the like. */
  varint(value: number): void {
    const count = value < 0x80 ? 1 : value < 0x4000 ? 2 : value < 0x200000 ? 3 : value < 0x10000000 ? 4 : 5;
    let at = this.#reserve(count);
    for (let rest = value; ; rest >>>= 7) {
      this.#bytes[at++] = rest < 0x80 ? rest : (rest & 0x7f) | 0x80;
      if (rest < 0x80) return;
    }
  }

  #largeVarint(value: bigint): void {
    const bytes: number[] = [];
    let rest = BigInt.asUintN(64, value);
    for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
    bytes.push(Number(rest));
    const at = this.#reserve(bytes.length);
    this.#bytes.set(bytes, at);
  }

  scalar(type: Scalar, value: never): void {
    if (type === 'varint') {
      const number = Number(value);
      if (number >= 0 && number < 0x80000000) this.varint(number);
      else this.#largeVarint(BigInt(value));
      return;
    }
    const count = type === 'utf8' || type === 'hex' ? Buffer.byteLength(value, type) : FIXED_BYTES[type];
    const at = this.#reserve(count);
    if (type === 'fixed32') this.#bytes.writeUInt32LE(value, at);
    else if (type === 'fixed64') this.#bytes.writeBigUInt64LE(BigInt(value), at);
    else if (type === 'double') this.#bytes.writeDoubleLE(value, at);
    else {
      this.#bytes.write(value, at, type);
      this.varint(count);
    }
  }
}

function writeField(writer: BackwardWriter, [number, type]: Field, value: unknown): void {
  const isScalar = typeof type === 'string';
  if (isScalar) writer.scalar(type, value as never);
  else {
    const before = writer.length;
    writeMessage(writer, type, value as object);
    writer.varint(writer.length - before);
  }
  writer.varint((number << 3) | (isScalar ? WIRE_TYPES[type] : LENGTH_PREFIXED));
}

function writeMessage(writer: BackwardWriter, fields: Message, message: object): void {
  const values = message as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(values).reverse()) {
    const field = fields[name];
    const value = values[name];
    if (field === undefined) continue;
    if (!Array.isArray(value)) writeField(writer, field, value);
    else for (let index = value.length - 1; index >= 0; index--) writeField(writer, field, value[index]);
  }
}

/** The body of an export request of OTLP/HTTP. */
export function encodeProtobuf(data: TracesData | LogsData): Buffer {
  const writer = new BackwardWriter();
  writeMessage(writer, EXPORT, data);
  return writer.written;
}
