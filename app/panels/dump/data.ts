import type { Json } from '../../profiler/json.ts';

export interface DumpEntry {
  value: Json;
  label: string | null;
  type: string;
  caller: string | null;
  atMs: number;
}

export interface DumpData {
  dumps: DumpEntry[];
}
