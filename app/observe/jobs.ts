/**
 * Jobs -> facts `job` of the request that adds them, and a profile of its own for each job that a worker of this process works on. A job's
 * token doesn't travel with it, because that would change what the application stores, so the request that added it is known in this process only.
 */
import type { Context } from '../profiler/record/context.ts';
import { isRecord, type Json } from '../profiler/json.ts';
import { truncateText, type PlainLimits, toPlain } from '../profiler/record/plain.ts';
import {
  type BullJob,
  bullmqChannels,
  type JobProcessed,
  type JobsAdded,
  jobsRemoved,
  type WorkerStarted,
  workersStarted,
} from './channels/bullmq.ts';
import { recordError } from './errors-seen.ts';
import { createCallRecorder } from './observe-calls.ts';
import type { Called } from './stacks/caller.ts';
import { closing, subscribeTo, subscribeToCalls, type WorkParts } from './subscribe.ts';
import { dropOldest } from '../profiler/drop-oldest.ts';

export interface JobFact extends Called {
  queue: string;
  name: string;
  id: string | null;
  /** The application chose the id. Then a job of that id that is still stored makes BullMQ ignore the new one. */
  ownId?: {
    isRemovedLater: boolean;
    /** The job that had it was done, and is stored: its token. */ doneIn?: string;
  };
  data: Json;
  delayMs: number | null;
  startMs: number;
  durationMs: number | null;
  error: string | null;
}

export interface JobRunFact {
  queue: string;
  name: string;
  id: string | null;
  data: Json;
  attempt: number;
  attempts: number;
  waitedMs: number | null;
  /** The line that added it, in this process. */
  addedAt?: string;
  result: Json;
  outcome: 'running' | 'completed' | 'failed';
  /** The line that made the worker; absent: before the profiler was there. */
  worker?: string;
  /** Lines that made other workers of this queue in this process: each takes any job of it. */
  otherWorkers?: string[];
}

declare module '../profiler/record/facts.ts' {
  interface Facts {
    job: JobFact;
    jobRun: JobRunFact;
  }
}

const DATA: PlainLimits = { depth: 5, width: 50, length: 1000, total: 300 };
const NAME_LENGTH = 200;
const FACT_BYTES = 1000;
const MOST_ADDED = 10_000;
const MOST_WORKERS = 3;
const MOST_KNOWN = 100;

/** Fewer done jobs are removed by those that follow. */
const MANY_DONE = 50;

/** Whether a done job is removed at once or soon: `true`, a small number, an age; `1000` and `{ count: 1000 }` keep so many. */
function isRemovedSoon(rule: unknown): boolean {
  const { age, count } = isRecord(rule) ? rule : { age: undefined, count: rule };
  if (rule === false || rule === undefined) return false;
  return age !== undefined || typeof count !== 'number' || count < MANY_DONE;
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number'
    ? truncateText(String(value), NAME_LENGTH)
    : '';
}

function idOf(job: unknown): string | null {
  return textOf((job as BullJob | null | undefined)?.id) || null;
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

export function observeJobs({ tracker, recorder, summaryReason, findCaller }: WorkParts): {
  close(): void;
} {
  const calls = createCallRecorder({ tracker, findCaller, fact: 'job', library: 'bullmq' });
  const adding = new WeakMap<JobsAdded, readonly { doneIn: string | undefined }[]>();
  const running = new WeakMap<JobProcessed, { context: Context; fact: JobRunFact | null }>();
  const addedBy = new Map<string, { token: string; place: string | null }>();
  /** Completed and still stored -> the token of the job. */
  const done = new Map<string, string>();

  /** Of each queue, its workers with the lines that made them. */
  const workers = new Map<string, Map<object, string>>();

  function started({ key, worker }: WorkerStarted): void {
    const place = findCaller?.({ skip: 'bullmq' }) ?? null;
    const known = workers.get(key) ?? new Map<object, string>();
    if (place === null || known.has(worker)) return;
    workers.set(key, known.set(worker, place));
    // Some applications make a queue for each customer, or a worker for each run.
    dropOldest(known, MOST_KNOWN);
    dropOldest(workers, MOST_KNOWN);
  }

  /** A worker that is closed takes no jobs any more. */
  function workersOf({ key, worker }: JobProcessed): Pick<JobRunFact, 'worker' | 'otherWorkers'> {
    const known = workers.get(key) ?? new Map<object, string>();
    for (const one of known.keys())
      if (one !== worker && (one as { closing?: unknown }).closing !== undefined) known.delete(one);
    const own = known.get(worker);
    const others = [...new Set(known.values())].filter((place) => place !== own);
    return {
      ...(own === undefined ? {} : { worker: own }),
      ...(others.length === 0 ? {} : { otherWorkers: others.slice(0, MOST_WORKERS) }),
    };
  }

  function linkTo(id: string, { key }: JobsAdded, by: { token: string; place: string | null }): void {
    addedBy.set(`${key}:${id}`, by);
    dropOldest(addedBy, MOST_ADDED);
  }

  function add(message: JobsAdded): void {
    let called: Called | null = null;
    const keys = message.jobs.map(({ name, data, opts }) => {
      const key = { doneIn: done.get(`${message.key}:${textOf(opts?.jobId)}`) };
      calls.begin(key, (find, { token }) => {
        called ??= find();
        // Such a job may be done before the request that added it has heard of it.
        const ownId = textOf(opts?.jobId);
        if (ownId !== '') linkTo(ownId, message, { token, place: called.caller });
        return {
          queue: truncateText(message.queue, NAME_LENGTH),
          name: textOf(name),
          id: null,
          data: toPlain(data, DATA),
          delayMs: numberOf(opts?.delay),
          error: null,
          ...called,
        };
      });
      return key;
    });
    adding.set(message, keys);
  }

  function added(message: JobsAdded): void {
    const jobs = [message.result].flat();
    for (const [index, key] of (adding.get(message) ?? []).entries())
      calls.end(key, message.error, (fact, { token }) => {
        fact.id = idOf(jobs[index]);
        const { removeOnComplete = false } = (jobs[index] as BullJob | undefined)?.opts ?? {};
        if (typeof message.jobs[index]?.opts?.jobId === 'string')
          fact.ownId = {
            isRemovedLater: isRemovedSoon(removeOnComplete),
            ...(key.doneIn === undefined ? {} : { doneIn: key.doneIn }),
          };
        if (fact.id !== null) linkTo(fact.id, message, { token, place: fact.caller });
      });
  }

  function open(message: JobProcessed): Context | null {
    const { queue, key, job } = message;
    const id = idOf(job);
    const name = textOf(job.name);
    const parent = addedBy.get(`${key}:${id}`)?.token ?? null;
    const summary = summaryReason();
    const context = recorder.openWork('job', { label: 'JOB', name: `${queue}/${name}`, parent, summary });
    if (summary !== null) {
      running.set(message, { context, fact: null });
      return null;
    }
    done.delete(`${key}:${id}`);
    const addedAt = numberOf(job.timestamp);
    const delayMs = numberOf(job.opts?.delay) ?? 0;
    const attempt = (numberOf(job.attemptsMade) ?? 0) + 1;
    const fact: JobRunFact = {
      queue,
      name,
      id,
      data: toPlain(job.data, DATA),
      attempt,
      attempts: numberOf(job.opts?.attempts) ?? 1,
      // Later attempts wait for their backoff, too.
      waitedMs: addedAt === null || attempt > 1 ? null : Math.max(0, context.startedAt - addedAt - delayMs),
      result: null,
      outcome: 'running',
      ...workersOf(message),
    };
    context.add('jobRun', fact, FACT_BYTES);
    running.set(message, { context, fact });
    return context;
  }

  function processed(message: JobProcessed): void {
    const entry = running.get(message);
    if (entry === undefined) return;
    running.delete(message);
    const { context, fact } = entry;
    // A job may be done before the request that added it has heard its id.
    const added = addedBy.get(`${message.key}:${idOf(message.job)}`);
    context.parent ??= added?.token ?? null;
    if (fact !== null && typeof added?.place === 'string') fact.addedAt = added.place;
    if (message.error !== undefined) recordError(context, message.error, { origin: 'work' });
    if (fact !== null) {
      fact.outcome = message.error === undefined ? 'completed' : 'failed';
      if (message.error === undefined) fact.result = toPlain(message.result ?? null, DATA);
    }
    recorder.finish(context);
    const rule = message.removeOnComplete ?? message.job.opts?.removeOnComplete;
    if (message.error === undefined && !isRemovedSoon(rule)) {
      done.set(`${message.key}:${idOf(message.job)}`, context.token);
      dropOldest(done, MOST_ADDED);
    }
  }

  function removed(queue: unknown): void {
    for (const key of done.keys()) if (key.startsWith(`${String(queue)}:`)) done.delete(key);
  }

  return closing([
    subscribeTo(jobsRemoved, removed),
    subscribeTo(workersStarted, started),
    subscribeToCalls<JobsAdded>(bullmqChannels.add, { start: add, asyncStart: added }),
    tracker.follow(bullmqChannels.process.start, (message) => open(message as JobProcessed)),
    subscribeToCalls<JobProcessed>(bullmqChannels.process, { asyncStart: processed }),
  ]);
}
