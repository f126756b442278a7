/** What is encoded, decoded by the messages of OpenTelemetry's own package, is what was given. */
import { expect } from 'chai';
import { attributesOf, nanoseconds, type OtlpLogRecord, type OtlpSpan } from '../../app/export/otlp-model.ts';
import { createProtobufEncoding } from '../../app/export/otlp-protobuf.ts';
import { decodeProtobuf } from '../support/otlp-collector.ts';

const scope = { name: 'express-hindsight', version: '1.2.3' };
const resource = attributesOf({ 'service.name': 'shop' });
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

/** A trace whose values are as far apart as they can be. */
const EXTREMES: OtlpSpan[] = [
  { ...span('the last moment'), startTimeUnixNano: '18446744073709551615' },
  { ...span('the first'), startTimeUnixNano: '0', endTimeUnixNano: '4294967296' },
  { ...span('a word'), startTimeUnixNano: '999999999', endTimeUnixNano: '281474976710656' },
  { ...span(''), events: undefined, status: undefined, traceState: undefined, parentSpanId: undefined },
  { ...span('x'.repeat(100)), attributes: attributesOf({ ['y'.repeat(99) + 'é']: 'x'.repeat(101) }) },
];

describe('OTLP in protobuf', () => {
  const encoding = createProtobufEncoding();

  it('keeps every field of spans', () => {
    const spans = [...EXTREMES, ...Array.from({ length: 300 }, (_, index) => span(`span ${index}`))];
    const parts = [encoding.spans(spans.slice(0, 5)), encoding.spans(spans.slice(5))];
    const body = encoding.traces([
      { resource, scope, schemaUrl: 'https://example.com/1', parts },
      { resource, scope, schemaUrl: '', parts: [encoding.spans([span('other')])] },
    ]);
    const expected = [
      {
        resource: { attributes: resource },
        scopeSpans: [{ scope, spans, schemaUrl: 'https://example.com/1' }],
      },
      { resource: { attributes: resource }, scopeSpans: [{ scope, spans: [span('other')], schemaUrl: '' }] },
    ];
    // As JSON, which has no undefined values either.
    expect(decodeProtobuf('traces', body)).to.deep.equal({
      resourceSpans: JSON.parse(JSON.stringify(expected)) as unknown,
    });
  });

  it('keeps every field of log records', () => {
    const parts = [encoding.records([record])];
    const body = encoding.logs([{ resource, scope, schemaUrl: 'https://a/1', parts }]);
    expect(decodeProtobuf('logs', body)).to.deep.equal({
      resourceLogs: [
        {
          resource: { attributes: resource },
          scopeLogs: [{ scope, logRecords: [record], schemaUrl: 'https://a/1' }],
        },
      ],
    });
  });

  it('has moments to the nanosecond', () => {
    expect(nanoseconds(1_764_100_000_123, 1.000_001)).to.equal('1764100000124000001');
    expect(nanoseconds(1_764_100_000_123, 0)).to.equal('1764100000123000000');
    expect(nanoseconds(1_764_100_000_123, -0.000_001)).to.equal('1764100000122999999');
  });
});
