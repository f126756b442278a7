/** The messages of OTLP/JSON: ids in hexadecimal, 64-bit integers as text (https://opentelemetry.io/docs/specs/otlp/). */
import type { Json } from '../profiler/json.ts';

/** Values that are null, undefined or empty texts are not sent. */
export type Attributes = Readonly<Record<string, Json | undefined>>;

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

/** What is sent with each profile of a process. */
export interface ExportedBy {
  /** Attributes of the resource: `service.name` and what the environment adds. */
  resource: Readonly<Record<string, string>>;
  scope: { name: string; version: string };
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

export function attributesOf(attributes: Attributes): KeyValue[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === null || value === undefined || value === '' ? [] : [{ key, value: valueOf(value) }],
  );
}

/** Nanoseconds since 1970, which a number can't hold. `startedAt`: whole milliseconds since 1970. */
export function nanoseconds(startedAt: number, afterMs: number): string {
  return String(BigInt(startedAt) * 1_000_000n + BigInt(Math.round(afterMs * 1e6)));
}
