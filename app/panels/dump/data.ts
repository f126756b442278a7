import type { Json } from '../../profiler/panel.ts';

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
