/** Spans and log records in protobuf. Numbers and types are those of opentelemetry-proto 1.x. */
import type { Json } from '../profiler/json.ts';
import type { Encoding, Group } from './otlp-encoding.ts';
import { type Attributes, isSent, type LogRecord, momentOf, type Scope, type Span, STATUS_ERROR } from './otlp-model.ts'; // prettier-ignore
import { ProtobufWriter } from './protobuf-writer.ts';

/** Fields are written from the last to the first, as are those in them. */
function writeValue(writer: ProtobufWriter, value: Json): void {
  if (typeof value === 'string') writer.text(1, value);
  else if (typeof value === 'boolean') writer.varint(2, value ? 1 : 0);
  else if (typeof value === 'number') {
    if (Number.isSafeInteger(value)) writer.int64(3, value);
    else writer.double(4, value);
  } else if (Array.isArray(value)) writer.message(5, value, writeValues);
  else if (value !== null) writer.message(6, value, writeEntries);
}

function writeValues(writer: ProtobufWriter, values: readonly Json[]): void {
  writer.messages(1, values, writeValue);
}

function writeEntries(writer: ProtobufWriter, table: Attributes): void {
  writeAttributes(writer, 1, table);
}

function writeAttributes(writer: ProtobufWriter, field: number, table: Attributes): void {
  const keys = Object.keys(table);
  for (let index = keys.length - 1; index >= 0; index--) {
    const key = keys[index] ?? '';
    const value = table[key];
    if (!isSent(value)) continue;
    const before = writer.length;
    writer.message(2, value, writeValue);
    writer.text(1, key);
    writer.prefix(field, before);
  }
}

function writeTables(writer: ProtobufWriter, field: number, tables: readonly Attributes[]): void {
  for (let index = tables.length - 1; index >= 0; index--)
    writeAttributes(writer, field, tables[index] ?? {});
}

function writeMoment(writer: ProtobufWriter, field: number, startedAt: number, afterMs: number): void {
  const { ms, ns } = momentOf(startedAt, afterMs);
  writer.fixed64(field, ms, ns);
}

function writeEvents(writer: ProtobufWriter, { startedAt, events }: Span): void {
  writer.messages(11, events, (_, { atMs, name, attributes }) => {
    writeAttributes(writer, 3, attributes);
    writer.text(2, name);
    writeMoment(writer, 1, startedAt, atMs);
  });
}

function writeFailure(writer: ProtobufWriter, message: string): void {
  writer.varint(3, STATUS_ERROR);
  writer.text(2, message);
}

function writeSpan(writer: ProtobufWriter, span: Span): void {
  const { traceState, parentSpanId, error, startedAt } = span;
  writer.fixed32(16, span.flags);
  if (error !== null) writer.message(15, error, writeFailure);
  if (span.events.length > 0) writeEvents(writer, span);
  writeTables(writer, 9, span.attributes);
  writeMoment(writer, 8, startedAt, span.endMs);
  writeMoment(writer, 7, startedAt, span.startMs);
  writer.varint(6, span.kind);
  writer.text(5, span.name);
  if (parentSpanId !== undefined) writer.hex(4, parentSpanId);
  if (traceState !== undefined) writer.text(3, traceState);
  writer.hex(2, span.spanId);
  writer.hex(1, span.traceId);
}

function writeText(writer: ProtobufWriter, text: string): void {
  writer.text(1, text);
}

function writeRecord(writer: ProtobufWriter, record: LogRecord): void {
  const { startedAt, atMs } = record;
  writeMoment(writer, 11, startedAt, atMs);
  writer.hex(10, record.spanId);
  writer.hex(9, record.traceId);
  writer.fixed32(8, record.flags);
  writeTables(writer, 6, record.attributes);
  writer.message(5, record.message, writeText);
  writer.text(3, record.severityText);
  writer.varint(2, record.severityNumber);
  writeMoment(writer, 1, startedAt, atMs);
}

function writeScope(writer: ProtobufWriter, { name, version }: Scope): void {
  writer.text(2, version);
  writer.text(1, name);
}

/** Spans and log records are field 2 of the messages of a scope, which are field 2 of those of a resource, field 1 of the request. */
function writeScoped(writer: ProtobufWriter, { scope, schemaUrl, parts }: Group): void {
  writer.text(3, schemaUrl);
  for (const part of parts.toReversed()) writer.bytes(part);
  writer.message(1, scope, writeScope);
}

function writeGroup(writer: ProtobufWriter, group: Group): void {
  writer.message(2, group, writeScoped);
  writer.message(1, group.resource, writeEntries);
}

export function createProtobufEncoding(): Encoding {
  const writer = new ProtobufWriter();
  const encode = <T>(
    field: number,
    values: readonly T[],
    write: (writer: ProtobufWriter, value: T) => void,
  ): Buffer =>
    writer.written(() => {
      writer.messages(field, values, write);
    });
  const request = (groups: readonly Group[]): Buffer => encode(1, groups, writeGroup);
  return {
    spans: (spans) => encode(2, spans, writeSpan),
    records: (records) => encode(2, records, writeRecord),
    traces: request,
    logs: request,
  };
}
