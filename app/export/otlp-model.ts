/**
 * Spans and log records of a profile, from which the forms of OTLP are written; and messages as its JSON form has them: ids in
 * hexadecimal, 64-bit integers as text (https://opentelemetry.io/docs/specs/otlp/).
 */
import type { Json } from '../profiler/json.ts';

/** What is unknown is not sent: null, undefined and empty texts. */
export type Attributes = Readonly<Record<string, Json | undefined>>;

export interface SpanEvent {
  /** Milliseconds after the span's `startedAt`. */
  atMs: number;
  name: string;
  attributes: Attributes;
}

export interface Span {
  /** Unique within the profile. */
  row: number;
  /** Ids in hexadecimal. */
  traceId: string;
  spanId: string;
  traceState: string | undefined;
  parentSpanId: string | undefined;
  flags: number;
  name: string;
  kind: number;
  /** Whole milliseconds since 1970. */
  startedAt: number;
  /** Milliseconds after that. */
  startMs: number;
  endMs: number;
  /** Several tables cost less than to join them. */
  attributes: readonly Attributes[];
  events: readonly SpanEvent[];
  /** What failed, in one line. */
  error: string | null;
}

export interface LogRecord {
  startedAt: number;
  atMs: number;
  severityNumber: number;
  severityText: string;
  message: string;
  attributes: readonly Attributes[];
  flags: number;
  traceId: string;
  spanId: string;
}

export type AnyValue =
  | { stringValue: string }
  | { boolValue: boolean }
  | { intValue: string }
  | { doubleValue: number }
  | { arrayValue: { values: AnyValue[] } }
  | { kvlistValue: { values: KeyValue[] } }
  /** null. */
  | Record<string, never>;

export interface KeyValue {
  key: string;
  value: AnyValue;
}

export interface OtlpEvent {
  timeUnixNano: string;
  name: string;
  attributes: KeyValue[];
}

/** What is undefined is not sent. */
export interface OtlpSpan {
  traceId: string;
  spanId: string;
  traceState?: string | undefined;
  parentSpanId?: string | undefined;
  flags: number;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: KeyValue[];
  events?: OtlpEvent[] | undefined;
  status?: { code: number; message?: string } | undefined;
}

export interface OtlpLogRecord {
  timeUnixNano: string;
  observedTimeUnixNano: string;
  severityNumber: number;
  severityText: string;
  body: AnyValue;
  attributes: KeyValue[];
  flags: number;
  traceId: string;
  spanId: string;
}

export interface Scope {
  name: string;
  version: string;
}

export interface TracesData {
  resourceSpans: {
    resource: { attributes: KeyValue[] };
    scopeSpans: { scope: Scope; spans: OtlpSpan[]; schemaUrl: string }[];
  }[];
}

export interface LogsData {
  resourceLogs: {
    resource: { attributes: KeyValue[] };
    scopeLogs: { scope: Scope; logRecords: OtlpLogRecord[]; schemaUrl: string }[];
  }[];
}

/** What is sent with each profile of a process. */
export interface ExportedBy {
  /** Attributes of the resource: `service.name` and what the environment adds. */
  resource: Readonly<Record<string, string>>;
  scope: Scope;
}

export const SPAN_KIND = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 } as const;

export const STATUS_ERROR = 2;

function valueOf(value: Json): AnyValue {
  if (value === null) return {};
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(valueOf) } };
  return { kvlistValue: { values: attributesOf(value) } };
}

export function isSent(value: Json | undefined): value is NonNullable<Json> {
  return value !== null && value !== undefined && value !== '';
}

export function attributesOf(...tables: readonly Attributes[]): KeyValue[] {
  return tables
    .flatMap((table) => Object.entries(table))
    .flatMap(([key, value]) => (isSent(value) ? [{ key, value: valueOf(value) }] : []));
}

/**
 * A moment since 1970 in whole milliseconds and nanoseconds after them, because together they are more than a number can hold.
 * `startedAt`: whole milliseconds since 1970; `afterMs`: since then. Throws RangeError if it is no such moment.
 */
export function momentOf(startedAt: number, afterMs: number): { ms: number; ns: number } {
  const after = Math.round(afterMs * 1e6);
  const afterWholeMs = Math.floor(after / 1e6);
  const ms = startedAt + afterWholeMs;
  if (!Number.isSafeInteger(ms) || !Number.isSafeInteger(after) || ms < 0) throw new RangeError('no time');
  return { ms, ns: after - afterWholeMs * 1e6 };
}

/** Nanoseconds since 1970 as text. */
export function nanoseconds(startedAt: number, afterMs: number): string {
  const { ms, ns } = momentOf(startedAt, afterMs);
  return `${ms}${String(ns).padStart(6, '0')}`;
}
