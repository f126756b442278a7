/** What is encoded, decoded by the messages of OpenTelemetry's own package, is what was given. */
import { expect } from 'chai';
import { recordJson, spanJson } from '../../app/export/otlp-encoding.ts';
import { attributesOf, type LogRecord, nanoseconds, type Span } from '../../app/export/otlp-model.ts';
import { createProtobufEncoding } from '../../app/export/otlp-protobuf.ts';
import { decodeProtobuf } from '../support/otlp-collector.ts';

const scope = { name: 'express-hindsight', version: '1.2.3' };
const resource = { 'service.name': 'shop' };
const startedAt = 1_764_100_000_123;

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

function span(name: string): Span {
  return {
    row: 0,
    traceId: '0af7651916cd43dd8448eb211c80319c',
    spanId: 'b7ad6b7169203331',
    parentSpanId: '00f067aa0ba902b7',
    traceState: 'vendor=1',
    flags: 0x101,
    name,
    kind: 3,
    startedAt,
    startMs: 0.000_001,
    endMs: 4_321.5,
    attributes: [VALUES, { unknown: undefined, nothing: null, empty: '' }, { last: 'one' }],
    events: [{ atMs: 1.25, name: 'exception', attributes: { 'exception.type': 'E' } }],
    error: 'failed',
  };
}

const record: LogRecord = {
  startedAt,
  atMs: 0.5,
  severityNumber: 17,
  severityText: 'ERROR',
  message: 'out of stock',
  attributes: [VALUES, { last: 'one' }],
  flags: 1,
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
};

/** A trace whose values are as far apart as they can be. */
const EXTREMES: Span[] = [
  { ...span('the last moment'), startedAt: 18_446_744_073_709, startMs: 0.551_615, endMs: 0, events: [] },
  { ...span('the first'), startedAt: 0, startMs: 1, endMs: 4_294.967_296 },
  { ...span('a word'), startedAt: 4_294_967_296, startMs: -0.000_001, endMs: 4_294_967_295.999_999 },
  { ...span(''), events: [], error: null, traceState: undefined, parentSpanId: undefined },
  { ...span('x'.repeat(100)), attributes: [{ ['y'.repeat(99) + 'é']: 'x'.repeat(101) }] },
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
    const attributes = attributesOf(resource);
    const expected = [
      {
        resource: { attributes },
        scopeSpans: [{ scope, spans: spans.map(spanJson), schemaUrl: 'https://example.com/1' }],
      },
      {
        resource: { attributes },
        scopeSpans: [{ scope, spans: [spanJson(span('other'))], schemaUrl: '' }],
      },
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
          resource: { attributes: attributesOf(resource) },
          scopeLogs: [{ scope, logRecords: [recordJson(record)], schemaUrl: 'https://a/1' }],
        },
      ],
    });
  });

  it('has moments to the nanosecond', () => {
    expect(nanoseconds(1_764_100_000_123, 1.000_001)).to.equal('1764100000124000001');
    expect(nanoseconds(1_764_100_000_123, 0)).to.equal('1764100000123000000');
    expect(nanoseconds(1_764_100_000_123, -0.000_001)).to.equal('1764100000122999999');
    for (const [ms, afterMs] of [
      [Number.NaN, 0],
      [1.5, 0],
      [0, -1],
      [0, Infinity],
    ] as const)
      expect(() => nanoseconds(ms, afterMs)).to.throw(RangeError);
  });
});
