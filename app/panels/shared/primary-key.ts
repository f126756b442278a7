/** Fields by which a row or an object is known. */
import type { Json } from '../../profiler/json.ts';

export const PRIMARY_KEYS: readonly string[] = ['id', '_id', 'uuid'];
export const PRIMARY = /^(?:_?id|uuid)$/i;

export function primaryKeyOf(row: Readonly<Record<string, Json>>): Json | undefined {
  return row.id ?? row._id ?? row.uuid;
}
