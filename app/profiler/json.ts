/** Values that JSON can hold. Data of a panel is made of these only. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

/** An object with names: neither null nor a list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
