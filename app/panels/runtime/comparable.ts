/** The process as two profiles are compared by it. */
import type { Comparable } from '../../profiler/comparable.ts';
import type { RuntimeData } from './index.ts';

export function comparableRuntime({ cpuUserMs, cpuSystemMs, totals, memory }: RuntimeData): Comparable {
  return {
    figures: [
      { label: 'CPU of the process', value: cpuUserMs + cpuSystemMs, unit: 'ms', cost: true },
      { label: 'Event loop held', value: totals.heldMs, unit: 'ms', cost: true },
      { label: 'Garbage collection', value: totals.collectionMs, unit: 'ms', cost: true },
      { label: 'Heap in use', value: memory.heapUsed, unit: 'bytes' },
    ],
  };
}
