/** bullmq 5 and later -> `express-hindsight:bullmq:add` (Queue) and `express-hindsight:bullmq:process` (Worker). */
import { tracingChannel } from 'node:diagnostics_channel';
import type { LibraryPatch } from '../libraries.ts';
import { publishCalls, type Traced } from './trace.ts';
import { allOf, wrapCalls } from './wrap-method.ts';

export interface BullJob {
  id?: unknown;
  name?: unknown;
  data?: unknown;
  opts?: { delay?: unknown; attempts?: unknown; jobId?: unknown; removeOnComplete?: unknown };
  attemptsMade?: unknown;
  timestamp?: unknown;
  processedOn?: unknown;
}

interface BullQueue {
  name?: unknown;
  opts?: { prefix?: unknown };
}

/** The result is the job, or the list of jobs. */
export interface JobsAdded extends Traced {
  queue: string;
  key: string;
  jobs: readonly Pick<BullJob, 'name' | 'data' | 'opts'>[];
}

export interface JobProcessed extends Traced {
  queue: string;
  key: string;
  job: BullJob;
}

export const bullmqChannels = {
  add: tracingChannel('express-hindsight:bullmq:add'),
  process: tracingChannel('express-hindsight:bullmq:process'),
};

interface Exports {
  Queue?: { prototype?: object };
  Worker?: { prototype?: object };
}

function nameOf(given: object): { queue: string; key: string } {
  const { opts, name: named } = given as BullQueue;
  const prefix = typeof opts?.prefix === 'string' ? opts.prefix : 'bull';
  const name = String(named);
  return { queue: name, key: `${prefix}:${name}` };
}

export const bullmqPatch: LibraryPatch = {
  name: 'bullmq',
  patch(exports) {
    const { Queue, Worker } = exports as Exports;
    const { add, process } = bullmqChannels;
    return allOf(
      publishCalls(Queue?.prototype, 'add', add, (queue, [name, data, opts]): JobsAdded => ({
        ...nameOf(queue),
        jobs: [{ name, data, opts: opts ?? {} }],
      })),
      publishCalls(Queue?.prototype, 'addBulk', add, (queue, [jobs]): JobsAdded => ({
        ...nameOf(queue),
        jobs: Array.isArray(jobs) ? (jobs as JobsAdded['jobs']) : [],
      })),
      wrapCalls(Worker?.prototype, 'callProcessJob', (call, worker, [job]) => {
        if (!process.start.hasSubscribers) return call();
        const message: JobProcessed = { ...nameOf(worker), job: job as BullJob };
        // Node's own, which runs the processor in the stores that are bound to `start`.
        return process.tracePromise(async () => await call(), message);
      }),
    );
  },
};
