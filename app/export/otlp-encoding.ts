/** What a form of export requests has to do, and the form in JSON. Spans and records of a profile are encoded at once, so that a batch is bytes, not objects. */
import type { KeyValue, OtlpLogRecord, OtlpSpan, Scope } from './otlp-model.ts';

/** Spans, or log records, of one resource. */
export interface Group {
  /** Its attributes. */
  resource: KeyValue[];
  scope: Scope;
  schemaUrl: string;
  /** Encoded; not empty. */
  parts: Buffer[];
}

export interface Encoding {
  /** A part of a group; of at least one. */
  spans(spans: readonly OtlpSpan[]): Buffer;
  records(records: readonly OtlpLogRecord[]): Buffer;
  /** The body of a request to `/v1/traces`. */
  traces(groups: readonly Group[]): Buffer;
  /** To `/v1/logs`. */
  logs(groups: readonly Group[]): Buffer;
}

/** The elements of an array. */
function elements(values: readonly unknown[]): Buffer {
  return Buffer.from(values.map((value) => JSON.stringify(value)).join(','));
}

function request(resources: string, scopes: string, items: string, groups: readonly Group[]): Buffer {
  const texts = groups.map(({ resource, scope, schemaUrl, parts }) => {
    const [head, scoped] = [{ attributes: resource }, scope].map((value) => JSON.stringify(value));
    return `{"resource":${head},"${scopes}":[{"scope":${scoped},"${items}":[${parts.join(',')}],"schemaUrl":${JSON.stringify(schemaUrl)}}]}`;
  });
  return Buffer.from(`{"${resources}":[${texts.join(',')}]}`);
}

export const JSON_ENCODING: Encoding = {
  spans: elements,
  records: elements,
  traces: (groups) => request('resourceSpans', 'scopeSpans', 'spans', groups),
  logs: (groups) => request('resourceLogs', 'scopeLogs', 'logRecords', groups),
};
