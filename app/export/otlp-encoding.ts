/** What a form of export requests has to do, and the form in JSON. Spans and records of a profile are encoded at once, so that a batch is bytes, not objects. */
import {
  type Attributes,
  attributesOf,
  type LogRecord,
  nanoseconds,
  type OtlpLogRecord,
  type OtlpSpan,
  type Scope,
  type Span,
  STATUS_ERROR,
} from './otlp-model.ts';

/** Spans, or log records, of one resource. */
export interface Group {
  /** Its attributes. */
  resource: Attributes;
  scope: Scope;
  schemaUrl: string;
  /** Encoded; not empty. */
  parts: Buffer[];
}

export interface Encoding {
  /** A part of a group; of at least one. */
  spans(spans: readonly Span[]): Buffer;
  records(records: readonly LogRecord[]): Buffer;
  /** The body of a request to `/v1/traces`. */
  traces(groups: readonly Group[]): Buffer;
  /** To `/v1/logs`. */
  logs(groups: readonly Group[]): Buffer;
}

export function spanJson(span: Span): OtlpSpan {
  const { traceId, spanId, traceState, parentSpanId, flags, name, kind } = span;
  const { startedAt, startMs, endMs, attributes, events, error } = span;
  return {
    traceId,
    spanId,
    traceState,
    parentSpanId,
    flags,
    name,
    kind,
    startTimeUnixNano: nanoseconds(startedAt, startMs),
    endTimeUnixNano: nanoseconds(startedAt, endMs),
    attributes: attributesOf(...attributes),
    events:
      events.length === 0
        ? undefined
        : events.map((event) => ({
            timeUnixNano: nanoseconds(startedAt, event.atMs),
            name: event.name,
            attributes: attributesOf(event.attributes),
          })),
    status: error === null ? undefined : { code: STATUS_ERROR, message: error },
  };
}

export function recordJson(record: LogRecord): OtlpLogRecord {
  const { startedAt, atMs, severityNumber, severityText, message, attributes, flags, traceId, spanId } =
    record;
  const at = nanoseconds(startedAt, atMs);
  return {
    timeUnixNano: at,
    observedTimeUnixNano: at,
    severityNumber,
    severityText,
    body: { stringValue: message },
    attributes: attributesOf(...attributes),
    flags,
    traceId,
    spanId,
  };
}

/** The elements of an array. */
function elements(values: readonly unknown[]): Buffer {
  return Buffer.from(values.map((value) => JSON.stringify(value)).join(','));
}

function request(resources: string, scopes: string, items: string, groups: readonly Group[]): Buffer {
  const texts = groups.map(({ resource, scope, schemaUrl, parts }) => {
    const [head, scoped] = [{ attributes: attributesOf(resource) }, scope].map((value) =>
      JSON.stringify(value),
    );
    return `{"resource":${head},"${scopes}":[{"scope":${scoped},"${items}":[${parts.join(',')}],"schemaUrl":${JSON.stringify(schemaUrl)}}]}`;
  });
  return Buffer.from(`{"${resources}":[${texts.join(',')}]}`);
}

export const JSON_ENCODING: Encoding = {
  spans: (spans) => elements(spans.map(spanJson)),
  records: (records) => elements(records.map(recordJson)),
  traces: (groups) => request('resourceSpans', 'scopeSpans', 'spans', groups),
  logs: (groups) => request('resourceLogs', 'scopeLogs', 'logRecords', groups),
};
