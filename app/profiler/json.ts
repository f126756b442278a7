/** Values that JSON can represent; data of a panel consists of these only. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
