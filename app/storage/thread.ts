/**
 * Main-thread client of the storage's thread: sends operations, receives their results. The thread is started by the first operation, and
 * again by the next one after it has ended; operations that it had not finished fail.
 */
import type { Worker } from 'node:worker_threads';
import type { PgSettings } from './pg-settings.ts';
import type { ExportCounters } from '../profiler/export.ts';
import type { Operations } from './postgres-operations.ts';

export interface Order {
  id: number;
  /** Set to DONE or FAILED when the operation has ended, for a caller that can't wait for a message. */
  done?: Int32Array;
  /** For `pg`: where to connect. */
  settings: PgSettings;
  name: keyof Operations;
  given: readonly unknown[];
}

export type ToThread = Order | 'close';

export type FromThread =
  | { id: number; result: unknown; failure?: undefined }
  | { id: number; failure: { message: string; code?: string } }
  | { notice: string; id?: undefined }
  | { exported: ExportCounters; id?: undefined; notice?: undefined };

export const DONE = 1;
export const FAILED = 2;

interface Outcome {
  resolve: (result: unknown) => void;
  reject: (error: Error) => void;
}

export interface Thread {
  ask(order: Omit<Order, 'id'>, transferred?: readonly ArrayBuffer[]): Promise<unknown>;
  /** Blocks until the operation has ended, or for `withinMs`; true if it succeeded. */
  askSync(order: Omit<Order, 'id'>, transferred: readonly ArrayBuffer[], withinMs: number): boolean;
  /** Ends it when its operations have finished, or after `withinMs`. */
  close(withinMs: number): Promise<void>;
}

/** A thread that ends before its first reply is not started again for so long: it would most likely fail again. */
const START_AGAIN_MS = 10_000;

export function createThread(
  start: () => Worker,
  say: (sentence: string) => void,
  onExport?: (counters: ExportCounters) => void,
): Thread {
  const outcomes = new Map<number, Outcome>();
  let worker: Worker | null = null;
  let lastId = 0;
  let hasReplied = false;
  let failure: { error: Error; at: number } | null = null;
  let closed = false;

  function receive(thread: Worker, message: FromThread): void {
    hasReplied = true;
    if (message.id === undefined) {
      if (message.notice === undefined) onExport?.(message.exported);
      else say(message.notice);
      return;
    }
    const outcome = outcomes.get(message.id);
    outcomes.delete(message.id);
    if (outcomes.size === 0) thread.unref();
    if (message.failure === undefined) outcome?.resolve(message.result);
    else outcome?.reject(Object.assign(new Error(message.failure.message), message.failure));
  }

  function ended(thread: Worker, reason: string): void {
    if (worker !== thread) return;
    worker = null;
    const error = new Error(closed ? 'the storage is closed.' : `the storage's thread has ended: ${reason}.`);
    if (!hasReplied) failure = { error, at: performance.now() };
    for (const { reject } of outcomes.values()) reject(error);
    outcomes.clear();
  }

  function running(): Worker {
    if (closed) throw new Error('the storage is closed.');
    if (worker !== null) return worker;
    if (failure !== null && performance.now() - failure.at < START_AGAIN_MS) throw failure.error;
    hasReplied = false;
    const thread = start();
    thread.on('message', (message: FromThread) => {
      receive(thread, message);
    });
    thread.on('error', (error: unknown) => {
      ended(thread, error instanceof Error ? error.message : String(error));
    });
    thread.on('exit', (code) => {
      ended(thread, `exit code ${code}`);
    });
    return (worker = thread);
  }

  return {
    ask(order, transferred = []) {
      return new Promise((resolve, reject) => {
        const thread = running();
        const id = ++lastId;
        thread.postMessage({ ...order, id } satisfies ToThread, transferred);
        outcomes.set(id, { resolve, reject });
        thread.ref();
      });
    },
    askSync(order, transferred, withinMs) {
      const done = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
      running().postMessage({ ...order, id: ++lastId, done } satisfies ToThread, transferred);
      Atomics.wait(done, 0, 0, withinMs);
      return Atomics.load(done, 0) === DONE;
    },
    async close(withinMs) {
      closed = true;
      const thread = worker;
      if (thread === null) return;
      const timeout = setTimeout(() => void thread.terminate(), withinMs);
      await new Promise<void>((resolve) => {
        thread.once('exit', () => {
          resolve();
        });
        thread.ref();
        thread.postMessage('close' satisfies ToThread);
      });
      clearTimeout(timeout);
    },
  };
}
