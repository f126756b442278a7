/** What can be read of a statement as Knex hands it to a driver, and of the driver's result. */
import type { Json } from '../profiler/json.ts';
import { describeError } from '../profiler/thrown-value.ts';
import { truncateText } from '../profiler/plain.ts';

/** Bytes of a fact beside its texts. */
const FACT_BYTES = 250;

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

export function statementOf(query: unknown): { sql: string; bindings: unknown; method: string | null } {
  if (typeof query === 'string') return { sql: query, bindings: [], method: null };
  const { sql, bindings, method } = query as { sql?: unknown; bindings?: unknown; method?: unknown };
  return { sql: textOf(sql) ?? '', bindings, method: textOf(method) };
}

export function bytesOf(sql: string, bindings: readonly Json[]): number {
  let bytes = FACT_BYTES + sql.length;
  for (const value of bindings) bytes += typeof value === 'string' ? value.length : 8;
  return bytes;
}
