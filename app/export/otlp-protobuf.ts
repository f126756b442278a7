/**
 * Spans and log records in protobuf, written from the same objects that are sent as JSON. Numbers and types are those of
 * opentelemetry-proto 1.x.
 */
import type { AnyValue, KeyValue, OtlpEvent, OtlpLogRecord, OtlpSpan, Scope } from './otlp-model.ts';
import type { Encoding, Group } from './otlp-encoding.ts';
import { ProtobufWriter } from './protobuf-writer.ts';

/** Fields are written from the last to the first, as are those in them. */
function writeValue(writer: ProtobufWriter, value: AnyValue): void {
  if ('stringValue' in value) writer.text(1, value.stringValue);
  else if ('boolValue' in value) writer.varint(2, value.boolValue ? 1 : 0);
  else if ('intValue' in value) writer.int64(3, value.intValue);
  else if ('doubleValue' in value) writer.double(4, value.doubleValue);
  else if ('arrayValue' in value) writer.message(5, value.arrayValue.values, writeValues);
  else if ('kvlistValue' in value) writer.message(6, value.kvlistValue.values, writeEntries);
}

function writeValues(writer: ProtobufWriter, values: readonly AnyValue[]): void {
  writer.messages(1, values, writeValue);
}

function writeEntries(writer: ProtobufWriter, entries: readonly KeyValue[]): void {
  writer.messages(1, entries, writeEntry);
}

function writeEntry(writer: ProtobufWriter, { key, value }: KeyValue): void {
  writer.message(2, value, writeValue);
  writer.text(1, key);
}

function writeEvent(writer: ProtobufWriter, { timeUnixNano, name, attributes }: OtlpEvent): void {
  writer.messages(3, attributes, writeEntry);
  writer.text(2, name);
  writer.fixed64(1, timeUnixNano);
}

function writeStatus(writer: ProtobufWriter, { code, message }: NonNullable<OtlpSpan['status']>): void {
  writer.varint(3, code);
  if (message !== undefined) writer.text(2, message);
}

function writeSpan(writer: ProtobufWriter, span: OtlpSpan): void {
  const { traceState, parentSpanId, events, status } = span;
  writer.fixed32(16, span.flags);
  if (status !== undefined) writer.message(15, status, writeStatus);
  if (events !== undefined) writer.messages(11, events, writeEvent);
  writer.messages(9, span.attributes, writeEntry);
  writer.fixed64(8, span.endTimeUnixNano);
  writer.fixed64(7, span.startTimeUnixNano);
  writer.varint(6, span.kind);
  writer.text(5, span.name);
  if (parentSpanId !== undefined) writer.hex(4, parentSpanId);
  if (traceState !== undefined) writer.text(3, traceState);
  writer.hex(2, span.spanId);
  writer.hex(1, span.traceId);
}

function writeRecord(writer: ProtobufWriter, record: OtlpLogRecord): void {
  writer.fixed64(11, record.observedTimeUnixNano);
  writer.hex(10, record.spanId);
  writer.hex(9, record.traceId);
  writer.fixed32(8, record.flags);
  writer.messages(6, record.attributes, writeEntry);
  writer.message(5, record.body, writeValue);
  writer.text(3, record.severityText);
  writer.varint(2, record.severityNumber);
  writer.fixed64(1, record.timeUnixNano);
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
