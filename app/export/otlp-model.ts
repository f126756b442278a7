/** Messages of OTLP as its JSON form has them: ids in hexadecimal, 64-bit integers as text (https://opentelemetry.io/docs/specs/otlp/). */
import type { Json } from '../profiler/json.ts';

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

/** Of one table or several, which costs less than to join them. Leaves out what is unknown: null, undefined and empty texts. */
export function attributesOf(...tables: readonly Readonly<Record<string, Json | undefined>>[]): KeyValue[] {
  const attributes: KeyValue[] = [];
  for (const table of tables) {
    for (const key of Object.keys(table)) {
      const value = table[key];
      if (value !== null && value !== undefined && value !== '')
        attributes.push({ key, value: valueOf(value) });
    }
  }
  return attributes;
}

/** Nanoseconds since 1970 as text. `startedAt`: whole milliseconds since 1970; `afterMs`: since then. */
export function nanoseconds(startedAt: number, afterMs: number): string {
  const after = Math.round(afterMs * 1e6);
  if (!Number.isSafeInteger(startedAt) || !Number.isSafeInteger(after)) throw new RangeError('no time');
  // In two parts, because together they are more than a number can hold.
  const ms = Math.floor(after / 1e6);
  return `${startedAt + ms}${String(after - ms * 1e6).padStart(6, '0')}`;
}
