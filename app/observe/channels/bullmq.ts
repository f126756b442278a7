/** bullmq 5 and later -> `express-hindsight:bullmq:add` (Queue) and `express-hindsight:bullmq:process` (Worker). */
import { channel, tracingChannel } from 'node:diagnostics_channel';
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
  opts?: { prefix?: unknown; removeOnComplete?: unknown };
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
  /** Of the worker: it goes before that of the job. */
  removeOnComplete: unknown;
  worker: object;
}

/** A worker begins, which its constructor asks for unless told otherwise. */
export interface WorkerStarted {
  key: string;
  worker: object;
}

export const workersStarted = channel('express-hindsight:bullmq:worker');

/** Jobs of a queue were removed: `bull:mails`. */
export const jobsRemoved = channel('express-hindsight:bullmq:removed');

export const bullmqChannels = {
  add: tracingChannel('express-hindsight:bullmq:add'),
  process: tracingChannel('express-hindsight:bullmq:process'),
};

interface Exports {
  Job?: { prototype?: object };
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
    const { Job, Queue, Worker } = exports as Exports;
    const { add, process } = bullmqChannels;
    return allOf(
      ...['remove', 'clean', 'obliterate'].map((name) =>
        wrapCalls(Queue?.prototype, name, (call, queue) => {
          jobsRemoved.publish(nameOf(queue).key);
          return call();
        }),
      ),
      wrapCalls(Job?.prototype, 'remove', (call, job) => {
        jobsRemoved.publish((job as { queueQualifiedName?: unknown }).queueQualifiedName);
        return call();
      }),
      publishCalls(Queue?.prototype, 'add', add, (queue, [name, data, opts]): JobsAdded => ({
        ...nameOf(queue),
        jobs: [{ name, data, opts: opts ?? {} }],
      })),
      publishCalls(Queue?.prototype, 'addBulk', add, (queue, [jobs]): JobsAdded => ({
        ...nameOf(queue),
        jobs: Array.isArray(jobs) ? (jobs as JobsAdded['jobs']) : [],
      })),
      wrapCalls(Worker?.prototype, 'run', (call, worker) => {
        workersStarted.publish({ key: nameOf(worker).key, worker } satisfies WorkerStarted);
        return call();
      }),
      wrapCalls(Worker?.prototype, 'callProcessJob', (call, worker, [job]) => {
        if (!process.start.hasSubscribers) return call();
        const message: JobProcessed = {
          ...nameOf(worker),
          job: job as BullJob,
          worker,
          removeOnComplete: (worker as BullQueue).opts?.removeOnComplete,
        };
        // Node's own, which runs the processor in the stores that are bound to `start`.
        return process.tracePromise(async () => await call(), message);
      }),
    );
  },
};
