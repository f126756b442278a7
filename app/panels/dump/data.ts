import type { Facts } from '../../profiler/facts.ts';

export interface DumpData {
  dumps: Facts['dump'][];
}
