/**
 * What goes between the writer's thread and the one that serves requests. A batch goes over as columns: an object per
 * profile would cost more than all else. The documents stay where they lie, in memory that both threads share.
 */
import type { Chores } from './chores.ts';
import type { WriteRow } from './rows.ts';

export interface ThreadData {
  schema: string;
  /** Width of a partition in milliseconds. */
  partitionMs: number;
}

export interface PackedRows {
  tokens: string[];
  heads: string[];
  /** Each one once. */
  processes: string[];
  memory: SharedArrayBuffer[];
  /** FIGURES for each row: start, whether final, number of its process, number of its memory, offset, length. */
  figures: Float64Array;
}

export type ToThread =
  | {
      type: 'write';
      id: number;
      /** For `pg`: where to connect. */
      settings: Record<string, unknown>;
      rows: PackedRows;
    }
  | {
      type: 'chore';
      id: number;
      settings: Record<string, unknown>;
      name: keyof Chores;
      given: readonly unknown[];
    }
  | { type: 'close' };

export type FromThread =
  /** The thread is up, not yet connected. */
  | { type: 'ready' }
  | { type: 'written'; id: number; clashes: string[] }
  /** Of a chore. */
  | { type: 'done'; id: number; result: unknown }
  /** `connecting`: there was no connection to write on. */
  | { type: 'failed'; id: number; message: string; code?: string; connecting: boolean }
  | { type: 'notice'; sentence: string };

const FIGURES = 6;

/** Number of `item` in `list`, added where it is new; nearly always the last one. */
function numberIn<T>(list: T[], item: T): number {
  if (list.at(-1) === item) return list.length - 1;
  const found = list.indexOf(item);
  return found === -1 ? list.push(item) - 1 : found;
}

/** Memory that is not shared yet is copied. */
function shared(bytes: Uint8Array): Uint8Array<SharedArrayBuffer> {
  if (bytes.buffer instanceof SharedArrayBuffer) return bytes as Uint8Array<SharedArrayBuffer>;
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
}

export function packRows(rows: readonly WriteRow[]): PackedRows {
  const packed: PackedRows = {
    tokens: rows.map(({ token }) => token),
    heads: rows.map(({ head }) => head),
    processes: [],
    memory: [],
    figures: new Float64Array(rows.length * FIGURES),
  };
  let at = 0;
  for (const row of rows) {
    const bytes = shared(row.bytes);
    packed.figures[at++] = row.startedAt;
    packed.figures[at++] = row.final ? 1 : 0;
    packed.figures[at++] = numberIn(packed.processes, row.process);
    packed.figures[at++] = numberIn(packed.memory, bytes.buffer);
    packed.figures[at++] = bytes.byteOffset;
    packed.figures[at++] = bytes.length;
  }
  return packed;
}

export function unpackRows({ tokens, heads, processes, memory, figures }: PackedRows): WriteRow[] {
  return tokens.map((token, i) => {
    const figure = (n: number): number => figures[i * FIGURES + n] ?? 0;
    return {
      token,
      startedAt: figure(0),
      final: figure(1) === 1,
      process: processes[figure(2)] ?? '',
      head: heads[i] ?? '',
      bytes: Buffer.from(memory[figure(3)] ?? new SharedArrayBuffer(0), figure(4), figure(5)),
    };
  });
}
