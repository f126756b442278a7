/** What is encoded, decoded by the messages of OpenTelemetry's own package, is what was given. */
import { expect } from 'chai';
import {
  attributesOf,
  type LogsData,
  nanoseconds,
  type OtlpLogRecord,
  type OtlpSpan,
  type TracesData,
} from '../../app/export/otlp-model.ts';
import { encodeProtobuf } from '../../app/export/otlp-protobuf.ts';
import { decodeProtobuf } from '../support/otlp-collector.ts';

const scope = { name: 'express-hindsight', version: '1.2.3' };
const resource = { attributes: attributesOf({ 'service.name': 'shop' }) };
const at = nanoseconds(1_764_100_000_123, 0.000_001);

const VALUES = {
  text: 'größer 🎉 \u0000',
  long: 'x'.repeat(70_000),
  yes: true,
  no: false,
  zero: 0,
  negative: -1,
  large: Number.MAX_SAFE_INTEGER,
  smallest: Number.MIN_SAFE_INTEGER,
  share: 0.25,
  list: ['a', 1, null, { deep: [true] }],
  table: { a: 1, b: { c: 'd' } },
};

function span(name: string): OtlpSpan {
  return {
    traceId: '0af7651916cd43dd8448eb211c80319c',
    spanId: 'b7ad6b7169203331',
    parentSpanId: '00f067aa0ba902b7',
    traceState: 'vendor=1',
    flags: 0x101,
    name,
    kind: 3,
    startTimeUnixNano: at,
    endTimeUnixNano: at,
    attributes: attributesOf(VALUES),
    events: [{ timeUnixNano: at, name: 'exception', attributes: attributesOf({ 'exception.type': 'E' }) }],
    status: { code: 2, message: 'failed' },
  };
}

const record: OtlpLogRecord = {
  timeUnixNano: at,
  observedTimeUnixNano: at,
  severityNumber: 17,
  severityText: 'ERROR',
  body: { stringValue: 'out of stock' },
  attributes: attributesOf(VALUES),
  flags: 1,
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
};

describe('OTLP in protobuf', () => {
  it('keeps every field of spans', () => {
    const spans = Array.from({ length: 300 }, (_, index) => span(`span ${index}`));
    const data: TracesData = {
      resourceSpans: [
        { resource, scopeSpans: [{ scope, spans, schemaUrl: 'https://example.com/1' }] },
        { resource, scopeSpans: [{ scope, spans: [span('other')], schemaUrl: '' }] },
      ],
    };
    expect(decodeProtobuf('traces', encodeProtobuf(data))).to.deep.equal(data);
  });

  it('keeps every field of log records', () => {
    const data: LogsData = {
      resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords: [record], schemaUrl: 'https://a/1' }] }],
    };
    expect(decodeProtobuf('logs', encodeProtobuf(data))).to.deep.equal(data);
  });

  it('has moments to the nanosecond', () => {
    expect(nanoseconds(1_764_100_000_123, 1.000_001)).to.equal('1764100000124000001');
  });
});
