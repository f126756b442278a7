/** Facts about statements, their values and their results. */
import { types } from 'node:util';
import { type Context, createSlot } from '../../profiler/record/context.ts';
import { isRecord, type Json } from '../../profiler/json.ts';
import { describeError } from '../../profiler/record/thrown-value.ts';
import {
  convert,
  type Converted,
  type DateWriter,
  type PlainLimits,
  toPlain,
  truncateText,
} from '../../profiler/record/plain.ts';

const FACT_BYTES = 250;

/** What the JSON of a recorded value does not say; `number`: it is not finite; `cut`: it does not say all of the value. */
export type BindingType = 'number' | 'bigint' | 'bigints' | 'date' | 'bytes' | 'undefined' | 'cut';

const MOST_BINDINGS = 100;
export const BINDING: PlainLimits = { depth: 5, width: 100, length: 500, total: 200, bytes: 64 };

function typeOf(value: unknown, { isExact, hasBigint }: Converted): BindingType | null {
  if (typeof value === 'number') return Number.isFinite(value) ? null : 'number';
  if (!isExact) return 'cut';
  if (typeof value === 'bigint') return 'bigint';
  if (value === undefined) return 'undefined';
  if (typeof value !== 'object' || value === null) return null;
  if (hasBigint) return 'bigints';
  return types.isDate(value) ? 'date' : ArrayBuffer.isView(value) ? 'bytes' : null;
}

export function recordedValues(
  values: readonly unknown[],
  writeDate?: DateWriter,
): { bindings: Json[]; types?: (BindingType | null)[] } {
  const isList = !types.isProxy(values);
  const count = isList ? Math.min(values.length, MOST_BINDINGS) : 0;
  const bindings: Json[] = [];
  const found: (BindingType | null)[] = [];
  const limits = { ...BINDING, writeDate };
  for (let at = 0; at < count; at++) {
    const value: unknown = Object.getOwnPropertyDescriptor(values, at)?.value;
    const converted = convert(value, limits);
    bindings.push(converted.json);
    found.push(typeOf(value, converted));
  }
  if (isList && values.length > count) bindings.push(`… ${values.length - count} more`);
  return found.some((type) => type !== null) ? { bindings, types: found } : { bindings };
}

/** Recorded of a statement, and of all of a request. */
export const MOST_ROWS = 5;
const MOST_OF_REQUEST = 200;
const ROW: PlainLimits = { depth: 3, width: 32, length: 80, total: 60 };

const recordedRows = createSlot<number>('recorded rows');

/** Fewer rows are no matter; counting more would take longer than they are worth. */
const [FEWEST_COUNTED, MOST_COUNTED] = [1000, 200_000];
const MOST_IDS = 4;
const TWO_JOINS = /\bjoin\b.*\bjoin\b/is;

/** How many values each column of ids has, in a large result of joins. */
export function countIds(rows: readonly unknown[], sql: string): Record<string, number> | null {
  if (types.isProxy(rows) || rows.length < FEWEST_COUNTED || rows.length > MOST_COUNTED) return null;
  const [first] = rows;
  if (!isRecord(first) || types.isProxy(first) || !TWO_JOINS.test(sql)) return null;
  const names = Object.keys(first).filter((name) => /(?:^|[._])id$|Id$/.test(name));
  return Object.fromEntries(
    names
      .slice(0, MOST_IDS)
      .map((name) => [name, new Set(rows.map((row) => (isRecord(row) ? row[name] : undefined))).size]),
  );
}

/** The first rows that a statement returned, by column: masking goes by names, so a row without names is left out. Never throws. */
export function firstRows(context: Context, rows: readonly unknown[]): Json[] {
  if (types.isProxy(rows)) return [];
  const before = recordedRows.get(context) ?? 0;
  const count = Math.min(rows.length, MOST_ROWS, MOST_OF_REQUEST - before);
  if (count <= 0) return [];
  recordedRows.set(context, before + count);
  return rows
    .slice(0, count)
    .map((row) => toPlain(row, ROW))
    .filter(isRecord);
}

export function textOf(value: unknown): string | null {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
}

export function rowsOf(answer: unknown): number | null {
  try {
    return countRows(answer);
  } catch {
    return null;
  }
}

function countRows(answer: unknown): number | null {
  const response: unknown = (answer as { response?: unknown } | null | undefined)?.response ?? answer;
  if (Array.isArray(response)) {
    const first: unknown = response[0];
    return Array.isArray(first) ? first.length : response.length;
  }
  const count: unknown = (response as { rowCount?: unknown } | null | undefined)?.rowCount;
  return typeof count === 'number' ? count : null;
}

export function messageOf(error: unknown): string {
  return truncateText(describeError(error).message, 2000);
}

export function errorOfKnex(error: unknown): string {
  const { message } = describeError(error);
  const end = message.lastIndexOf(' - ');
  return end === -1 ? message : message.slice(end + 3);
}

/** As Knex hands it to a driver. */
export function statementOf(statement: unknown): { sql: string; bindings: unknown } {
  if (typeof statement === 'string') return { sql: statement, bindings: [] };
  const { sql, bindings } = statement as { sql?: unknown; bindings?: unknown };
  return { sql: textOf(sql) ?? '', bindings };
}

export function bytesOf(sql: string, bindings: readonly Json[]): number {
  let bytes = FACT_BYTES + sql.length;
  for (const value of bindings) bytes += typeof value === 'string' ? value.length : 8;
  return bytes;
}
