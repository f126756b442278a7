/** Main-thread client of the thread that exports profiles. It is started by the first profile, and again by the next one after it has ended. */
import type { Worker } from 'node:worker_threads';
import { type ExportCounters, NOTHING_EXPORTED } from '../profiler/export.ts';
import type { FromExportThread, ToExportThread } from './otlp-thread.ts';

export interface ExportWorker {
  /** Copies the documents. */
  add(documents: readonly Uint8Array[]): void;
  /** Of the thread that runs. */
  counters(): ExportCounters;
  close(withinMs: number): Promise<void>;
}

/** Milliseconds for the thread to end after its deadline: it may have to start first. */
const END_WITHIN_MS = 2000;

export function createExportWorker(start: () => Worker, say: (sentence: string) => void): ExportWorker {
  let worker: Worker | null = null;
  let counters = NOTHING_EXPORTED;
  let isClosed = false;

  function running(): Worker {
    if (worker !== null) return worker;
    const thread = start();
    thread.unref();
    thread.on('message', (message: FromExportThread) => {
      if (message.counters === undefined) say(message.notice);
      else counters = message.counters;
    });
    thread.on('error', (error: Error) => {
      say(`The thread that exports profiles has ended: ${error.message}.`);
    });
    thread.on('exit', () => {
      if (worker === thread) worker = null;
    });
    return (worker = thread);
  }

  function post(thread: Worker, message: ToExportThread, transferred: ArrayBuffer[] = []): void {
    thread.postMessage(message, transferred);
  }

  return {
    add(documents) {
      if (isClosed) return;
      const data = Buffer.allocUnsafeSlow(documents.reduce((size, { length }) => size + length, 0));
      let at = 0;
      const ends = documents.map((document) => {
        data.set(document, at);
        return (at += document.length);
      });
      post(running(), { data, ends }, [data.buffer]);
    },
    counters: () => counters,
    async close(withinMs) {
      isClosed = true;
      const thread = worker;
      if (thread === null) return;
      const ended = new Promise<void>((resolve) => {
        thread.once('exit', () => {
          resolve();
        });
      });
      thread.ref();
      post(thread, { closeWithinMs: withinMs });
      const timeout = setTimeout(() => void thread.terminate(), withinMs + END_WITHIN_MS);
      await ended;
      clearTimeout(timeout);
    },
  };
}
