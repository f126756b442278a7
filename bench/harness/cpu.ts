/**
 * CPU and memory of a process from the kernel's own accounting, in microseconds and bytes.
 *
 * `schedstat` counts nanoseconds per thread, so the main thread can be told from all threads together. Where the kernel
 * has none, `stat` does, in ticks of 10 ms and for the process alone. A thread that ended is no longer counted.
 */
import { readdirSync, readFileSync } from 'node:fs';

export interface CpuTime {
  /** All threads: request, garbage collection, compiler, workers. */
  all: number;
  main: number;
}

const TICK_US = 10_000;

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

function ofThread(pid: number, thread: string): number {
  const text = readOrNull(`/proc/${pid}/task/${thread}/schedstat`);
  return text === null ? 0 : Number(text.split(' ', 1)[0]) / 1000;
}

function ofProcess(pid: number): number {
  const fields = (readOrNull(`/proc/${pid}/stat`) ?? '').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * TICK_US;
}

export function cpuOf(pid: number): CpuTime {
  if (readOrNull(`/proc/${pid}/schedstat`) === null) return { all: ofProcess(pid), main: ofProcess(pid) };
  let all = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) all += ofThread(pid, thread);
  return { all, main: ofThread(pid, String(pid)) };
}

/** Resident memory in bytes. */
export function memoryOf(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(readOrNull(`/proc/${pid}/status`) ?? '');
  return Number(line?.[1] ?? 0) * 1024;
}
