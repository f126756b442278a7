/** bullmq 5 and later -> `express-hindsight:bullmq:add` (Queue) and `express-hindsight:bullmq:process` (Worker). */
import { tracingChannel } from 'node:diagnostics_channel';
import type { LibraryPatch } from '../libraries.ts';
import { traceCall, type Traced } from './trace.ts';
import { allOf, wrapMethod } from './wrap-method.ts';

/** What is read of a job. */
export interface BullJob {
  id?: unknown;
  name?: unknown;
  data?: unknown;
  opts?: { delay?: unknown; attempts?: unknown };
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
  /** Name of the queue in Redis, which a queue and its workers share. */
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

function nameOf(queue: BullQueue): { queue: string; key: string } {
  const prefix = typeof queue.opts?.prefix === 'string' ? queue.opts.prefix : 'bull';
  const name = String(queue.name);
  return { queue: name, key: `${prefix}:${name}` };
}

function wrapAdd(prototype: unknown, name: string, jobsOf: (args: unknown[]) => JobsAdded['jobs']) {
  const { add } = bullmqChannels;
  return wrapMethod(
    prototype,
    name,
    (original) =>
      function (this: unknown, ...args) {
        const call = (): unknown => Reflect.apply(original, this, args);
        if (!add.start.hasSubscribers) return call();
        const message: JobsAdded = { ...nameOf(this as BullQueue), jobs: jobsOf(args) };
        return traceCall(add, message, call);
      },
  );
}

export const bullmqPatch: LibraryPatch = {
  name: 'bullmq',
  patch(exports) {
    const { Queue, Worker } = exports as Exports;
    const { process } = bullmqChannels;
    return allOf(
      wrapAdd(Queue?.prototype, 'add', ([name, data, opts]) => [{ name, data, opts: opts ?? {} }]),
      wrapAdd(Queue?.prototype, 'addBulk', ([jobs]) =>
        Array.isArray(jobs) ? (jobs as JobsAdded['jobs']) : [],
      ),
      wrapMethod(
        Worker?.prototype,
        'callProcessJob',
        (original) =>
          function (this: unknown, ...args) {
            const call = (): unknown => Reflect.apply(original, this, args);
            if (!process.start.hasSubscribers) return call();
            const message: JobProcessed = { ...nameOf(this as BullQueue), job: args[0] as BullJob };
            // Node's own, which runs the processor in the stores that are bound to `start`.
            return process.tracePromise(async () => await call(), message);
          },
      ),
    );
  },
};
