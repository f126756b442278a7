/** What can be read of statements, of their values, and of what came of them. */
import type { Json } from '../profiler/json.ts';
import { describeError } from '../profiler/thrown-value.ts';
import { truncateText } from '../profiler/plain.ts';

/** Bytes of a fact beside its texts. */
const FACT_BYTES = 250;

/** A statement that ends a transaction, also as the last of several. */
export const ENDS =
  /(?:^|;)\s*(?:commit|end(?:\s+transaction)?|rollback(?!\s+(?:work\s+|transaction\s+)?to\b)[^;]*)\s*;?\s*$/i;

/** What the JSON of a recorded value loses. */
export type BindingType = 'bigint' | 'bigints' | 'date' | 'bytes' | 'undefined';

function typeOf(value: unknown): BindingType | null {
  if (typeof value === 'bigint') return 'bigint';
  if (value === undefined) return 'undefined';
  if (typeof value !== 'object' || value === null) return null;
  if (Array.isArray(value)) return typeof value[0] === 'bigint' ? 'bigints' : null;
  return value instanceof Date ? 'date' : ArrayBuffer.isView(value) ? 'bytes' : null;
}

/** null if JSON keeps all types, as of texts and numbers. Never throws. */
export function bindingTypes(bindings: unknown): (BindingType | null)[] | null {
  if (!Array.isArray(bindings)) return null;
  try {
    let types: (BindingType | null)[] | null = null;
    for (let index = 0; index < bindings.length; index++) {
      const type = typeOf(bindings[index]);
      if (type !== null) (types ??= new Array<BindingType | null>(bindings.length).fill(null))[index] = type;
    }
    return types;
  } catch {
    return null;
  }
}

export function textOf(value: unknown): string | null {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
}

/** Number of rows as the drivers report it: pg's result, or a list of rows. Never throws. */
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

/** The driver's own message: Knex prepends the statement with its values. */
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
