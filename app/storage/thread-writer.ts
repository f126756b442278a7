/**
 * The near side of the writer's thread: a batch goes over as text, its outcome comes back.
 *
 * The thread starts with the first batch. One that does not answer within its time is ended and the batch counts as
 * failed, for the writer to try again: storing twice is harmless. Where no thread can be started, or it keeps dying, the
 * caller writes by itself from then on.
 */
import type { Worker } from 'node:worker_threads';
import type { StoredProfile } from '../profiler/storage.ts';
import type { FromThread, ThreadData, ToThread } from './thread-messages.ts';

export interface ThreadOptions {
  /** Starts the thread's module, `storage/writer-thread`. */
  start: (data: ThreadData) => Worker;
  /** Where to connect, in the form of `pg`; asked anew after a failure. */
  connection: () => Promise<Record<string, unknown>>;
}

export interface ThreadWriter {
  /** The tokens that clashed; null where there is no thread: the batch is still to be written. */
  write(profiles: readonly StoredProfile[]): Promise<string[] | null>;
  close(withinMs: number): Promise<void>;
}

/** Milliseconds for one batch, connecting included. */
const ANSWER_WITHIN_MS = 14_000;
/** Threads that died in a row before none is started any more. */
const MOST_DEATHS = 3;

interface Waiting {
  resolve: (clashes: string[] | null) => void;
  reject: (error: Error) => void;
  timer: NodeJS.Timeout;
}

export function createThreadWriter(
  options: ThreadOptions & { data: ThreadData; say: (sentence: string) => void },
): ThreadWriter {
  const { data, say } = options;
  let worker: Worker | null = null;
  let settings: Record<string, unknown> | null = null;
  let deaths = 0;
  /** Some thread has worked once. */
  let proven = false;
  let nextId = 1;
  const waiting = new Map<number, Waiting>();

  function take(id: number): Waiting | undefined {
    const found = waiting.get(id);
    waiting.delete(id);
    clearTimeout(found?.timer);
    if (waiting.size === 0) worker?.unref();
    return found;
  }

  function receive(message: FromThread): void {
    proven = true;
    if (message.type === 'notice') {
      say(message.sentence);
      return;
    }
    const found = take(message.id);
    if (message.type === 'written') {
      deaths = 0;
      found?.resolve(message.clashes);
      return;
    }
    settings = null;
    const { code } = message;
    found?.reject(Object.assign(new Error(message.message), code === undefined ? {} : { code }));
  }

  /** The thread is gone: what it had is written by the caller, now or at its next try. */
  function died(gone: Worker, reason: string): void {
    if (worker !== gone) return;
    worker = null;
    deaths = proven ? deaths + 1 : MOST_DEATHS;
    if (deaths === MOST_DEATHS)
      say(`The thread that stores profiles can't go on (${reason}); they are stored without one.`);
    for (const id of [...waiting.keys()]) {
      const found = take(id);
      if (deaths >= MOST_DEATHS) found?.resolve(null);
      else found?.reject(new Error(`the thread that stores profiles ended: ${reason}`));
    }
  }

  function start(): Worker | null {
    if (deaths >= MOST_DEATHS) return null;
    try {
      const started = options.start(data);
      started.on('message', receive);
      started.on('error', (error: unknown) => {
        died(started, error instanceof Error ? error.message : String(error));
      });
      started.on('exit', (code) => {
        died(started, `exit code ${code}`);
      });
      started.unref();
      return started;
    } catch (error) {
      deaths = MOST_DEATHS;
      say(
        `No thread can be started to store profiles (${error instanceof Error ? error.message : String(error)}); ` +
          'they are stored without one.',
      );
      return null;
    }
  }

  return {
    async write(profiles) {
      settings ??= await options.connection();
      worker ??= start();
      const thread = worker;
      if (thread === null) return null;
      const id = nextId++;
      const message: ToThread = {
        type: 'write',
        id,
        settings,
        indexes: JSON.stringify(profiles.map(({ index }) => index)),
        documents: profiles.map(({ document }) => document),
      };
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          take(id)?.reject(new Error(`the database did not answer within ${ANSWER_WITHIN_MS / 1000} s.`));
          if (worker === thread) worker = null;
          settings = null;
          void thread.terminate();
        }, ANSWER_WITHIN_MS);
        timer.unref();
        waiting.set(id, { resolve, reject, timer });
        thread.ref();
        thread.postMessage(message);
      });
    },
    async close(withinMs) {
      const thread = worker;
      worker = null;
      deaths = MOST_DEATHS;
      if (thread === null) return;
      const ended = new Promise<void>((resolve) => {
        thread.once('exit', () => {
          resolve();
        });
      });
      const patience = setTimeout(() => void thread.terminate(), withinMs);
      thread.ref();
      thread.postMessage({ type: 'close' } satisfies ToThread);
      await ended;
      clearTimeout(patience);
    },
  };
}
