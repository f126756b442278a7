/**
 * The near side of the writer's thread: a batch or a chore goes over, its outcome comes back.
 *
 * The thread starts with what it is first asked for. One that does not answer a batch within its time is ended, and only then
 * the batch counts as failed, so that nobody reads its bytes any more; the writer tries again, storing twice is harmless.
 *
 * Beside a pool that writes as well, no batch waits for a thread that is not up yet: the caller writes by itself until then,
 * and from then on where no thread can be started, it keeps dying, or it has no way to the database where the caller has one.
 * Where the thread is alone with what goes on by itself, all waits for it, and a caller does so only when no thread can be
 * had at all.
 */
import type { Worker } from 'node:worker_threads';
import type { Chores } from './chores.ts';
import type { WriteRow } from './rows.ts';
import { packRows, type FromThread, type ThreadData, type ToThread } from './thread-messages.ts';
import { answerWithin } from './unavailable.ts';

export interface ThreadOptions {
  /** Starts the thread's module, `storage/writer-thread`. */
  start: (data: ThreadData) => Worker;
  /** Where to connect, in the form of `pg`; asked anew after a failure. Null: a thread can't connect there. */
  connection: () => Promise<Record<string, unknown> | null>;
}

export interface ThreadWriter {
  /** The tokens that clashed; null where the caller has to write the batch by itself. `rowsOf`: so that none live while it lasts. */
  write(rowsOf: () => readonly WriteRow[]): Promise<string[] | null>;
  /** Null where the caller has to do it by itself. */
  ask(chore: keyof Chores, given: readonly unknown[]): Promise<{ result: unknown } | null>;
  /** The caller has stored what was left to it. */
  wroteInstead(): void;
  close(withinMs: number): Promise<void>;
}

const ANSWER_WITHIN_MS = 14_000;
/** Threads that died in a row before none is started any more. */
const MOST_DEATHS = 3;
/** Batches that a thread which never connected left to the caller, who could store them. */
const MOST_DETOURS = 3;

type Outcome = FromThread & { type: 'written' | 'done' };

interface Waiting {
  /** Who has been asked. */
  thread: Worker;
  resolve: (outcome: Outcome | null) => void;
  reject: (error: Error) => void;
  /** Of a batch: a chore may take its time. */
  timer: NodeJS.Timeout | undefined;
}

/** What is sent, without its number. */
type Order =
  | Omit<ToThread & { type: 'write' }, 'id' | 'settings'>
  | Omit<ToThread & { type: 'chore' }, 'id' | 'settings'>;

export function createThreadWriter(
  options: ThreadOptions & {
    data: ThreadData;
    /** Chores are done there too, and batches wait until it is up. */
    alone?: boolean;
    /** Milliseconds for one batch, connecting included. */
    answerWithinMs?: number;
    say: (sentence: string) => void;
  },
): ThreadWriter {
  const { data, say, alone = false, answerWithinMs = ANSWER_WITHIN_MS } = options;
  let worker: Worker | null = null;
  let isReady = false;
  let settings: Record<string, unknown> | null = null;
  let deaths = 0;
  /** Some thread has worked once. */
  let proven = false;
  /** Some thread has stored something. */
  let connects = false;
  /** The last batch was left to the caller since the thread could not connect. */
  let refused = false;
  let detours = 0;
  let nextId = 1;
  const waiting = new Map<number, Waiting>();

  function take(id: number): Waiting | undefined {
    const found = waiting.get(id);
    waiting.delete(id);
    clearTimeout(found?.timer);
    if (found !== undefined && idsOf(found.thread).length === 0) found.thread.unref();
    return found;
  }

  /** What a thread has not answered. */
  function idsOf(thread: Worker): number[] {
    return [...waiting].filter(([, order]) => order.thread === thread).map(([id]) => id);
  }

  function rejectAll(thread: Worker, error: Error): void {
    for (const id of idsOf(thread)) take(id)?.reject(error);
  }

  function giveUp(sentence: string): void {
    deaths = MOST_DEATHS;
    say(`${sentence}; they are stored without one.`);
  }

  function receive(from: Worker, message: FromThread): void {
    proven = true;
    switch (message.type) {
      case 'ready':
        isReady ||= worker === from;
        return;
      case 'notice':
        say(message.sentence);
        return;
      case 'written':
      case 'done':
        connects ||= message.type === 'written';
        deaths = 0;
        take(message.id)?.resolve(message);
        return;
      case 'failed':
        receiveFailure(message);
    }
  }

  function receiveFailure({ id, message, code, connecting }: FromThread & { type: 'failed' }): void {
    settings = null;
    const found = take(id);
    refused = connecting && !connects && !alone;
    if (refused) found?.resolve(null);
    else found?.reject(Object.assign(new Error(message), code === undefined ? {} : { code }));
  }

  /** The thread is gone: what it had is written by the caller, now or at its next try. */
  function died(gone: Worker, reason: string): void {
    if (worker !== gone) return;
    worker = null;
    if (!proven || deaths + 1 >= MOST_DEATHS)
      giveUp(`The thread that stores profiles can't go on (${reason})`);
    else deaths++;
    for (const id of idsOf(gone)) {
      const found = take(id);
      if (deaths >= MOST_DEATHS) found?.resolve(null);
      else found?.reject(new Error(`the thread that stores profiles ended: ${reason}`));
    }
  }

  function start(): Worker | null {
    if (deaths >= MOST_DEATHS) return null;
    try {
      isReady = false;
      const started = options.start(data);
      started.on('message', (message: FromThread) => {
        receive(started, message);
      });
      started.on('error', (error: unknown) => {
        died(started, error instanceof Error ? error.message : String(error));
      });
      started.on('exit', (code) => {
        died(started, `exit code ${code}`);
      });
      started.unref();
      return started;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      giveUp(`No thread can be started to store profiles (${reason})`);
      return null;
    }
  }

  /** What it has been asked fails when it is gone; others are for the next thread. */
  async function end(thread: Worker, error: Error): Promise<void> {
    if (worker === thread) worker = null;
    await thread.terminate();
    rejectAll(thread, error);
  }

  /** Ends a thread that hangs. */
  function late(thread: Worker): void {
    settings = null;
    void end(thread, new Error(`the database did not answer within ${answerWithinMs / 1000} s.`));
  }

  /** Null where there is none, and will be none. */
  async function running(): Promise<{ thread: Worker; to: Record<string, unknown> } | null> {
    if (deaths >= MOST_DEATHS) return null;
    settings ??= await answerWithin(options.connection(), answerWithinMs);
    if (settings === null) {
      deaths = MOST_DEATHS;
      return null;
    }
    worker ??= start();
    return worker === null ? null : { thread: worker, to: settings };
  }

  function send(
    { thread, to }: { thread: Worker; to: Record<string, unknown> },
    order: Order,
  ): Promise<Outcome | null> {
    const id = nextId++;
    return new Promise((resolve, reject) => {
      const timer = order.type === 'write' ? setTimeout(late, answerWithinMs, thread) : undefined;
      timer?.unref();
      waiting.set(id, { thread, resolve, reject, timer });
      thread.ref();
      thread.postMessage({ ...order, id, settings: to } satisfies ToThread);
    });
  }

  /** Apart, since a function that waits keeps alive whatever it has made. */
  const sendRows = (
    to: Parameters<typeof send>[0],
    rowsOf: () => readonly WriteRow[],
  ): ReturnType<typeof send> => send(to, { type: 'write', rows: packRows(rowsOf()) });

  return {
    async write(rowsOf) {
      const found = await running();
      if (found === null || !(isReady || alone)) return null;
      const outcome = await sendRows(found, rowsOf);
      return outcome?.type === 'written' ? outcome.clashes : null;
    },
    async ask(name, given) {
      const found = alone ? await running() : null;
      if (found === null) return null;
      const outcome = await send(found, { type: 'chore', name, given });
      return outcome?.type === 'done' ? { result: outcome.result } : null;
    },
    wroteInstead() {
      if (!refused) return;
      refused = false;
      if (++detours < MOST_DETOURS || deaths >= MOST_DEATHS) return;
      giveUp('The thread that stores profiles has no way to the database, though the pool has one');
      if (worker !== null) void end(worker, new Error('the thread that stores profiles is given up.'));
    },
    async close(withinMs) {
      const thread = worker;
      worker = null;
      deaths = MOST_DEATHS;
      if (thread === null) return;
      const closed = new Error('the storage is closed.');
      if (!isReady && idsOf(thread).length === 0) {
        await end(thread, closed);
        return;
      }
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
      rejectAll(thread, closed);
    },
  };
}
