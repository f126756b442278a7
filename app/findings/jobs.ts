/** Jobs that a queue does not take, or that are added within a transaction. */
import { leavesOf } from '../panels/shared/json-leaves.ts';
import { receivedBy } from '../panels/shared/received.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import type { ProfileHead } from '../profiler/profile.ts';
import { isMasked } from '../profiler/masking/redact.ts';
import { commits, rollsBack } from '../profiler/transaction-sql.ts';
import { asksForKey, givenText } from './shared/conditions.ts';
import {
  type Database,
  endOf,
  type Kept,
  type Needs,
  type OtherRequest,
  type Query,
  type Rule,
} from './shared/kept.ts';
import {
  draftAt,
  isWrite,
  kindOf,
  labelOf,
  PRIMARY,
  type Read,
  readsOf,
  sqlOf,
  type Transaction,
  transactionsOf,
  workOf,
} from './shared/queries.ts';
import { bracketed, count, duration, excerpt, LONGEST_NAME, requestText } from './shared/wording.ts';

type Job = Kept['jobs']['items'][number];

function nameOf({ queue, name }: Job): string {
  return excerpt(`${queue}/${name}`, LONGEST_NAME);
}

function isKept({ id, ownId, error }: Job): boolean {
  return error === null && id !== null && ownId?.isRemovedLater === false;
}

/** A value that the data of both have, and that is another one; masked ones can't be compared. */
function differenceOf(job: Job, before: Job): { path: string; own: string; other: string } | null {
  const others = new Map(leavesOf(before.data).map(({ path, value }) => [path, String(value)]));
  for (const { path, value } of leavesOf(job.data)) {
    const [own, other] = [String(value), others.get(path)];
    if (other !== undefined && other !== own && !isMasked(own) && !isMasked(other))
      return { path, own, other };
  }
  return null;
}

interface Former {
  job: Job;
  /** null: this one. */
  request: ProfileHead | null;
}

function formerOf(job: Job, ownBefore: readonly Job[], earlier: readonly OtherRequest[]): Former | undefined {
  const jobs = [
    ...ownBefore.map((one): Former => ({ job: one, request: null })),
    ...earlier.flatMap(({ head, kept }) =>
      (kept.jobs?.items ?? []).map((one): Former => ({ job: one, request: head })),
    ),
  ];
  return jobs.find(({ job: one }) => isKept(one) && one.id === job.id && one.queue === job.queue);
}

const jobIgnored: Rule<Needs<'jobs'>> = {
  name: 'job-ignored',
  needs: ['jobs'],
  labels: ['job ignored'],
  why: 'The job has an id that the application chose (`jobId`), and a job with that id was added to the queue before. BullMQ adds none while one of that id is stored; without `removeOnComplete: true`, done jobs are.',
  fix: 'Give each job an id of its own, such as that of the row that it is about. If the id is meant to drop repetitions, remove done jobs (`removeOnComplete: true`).',
  compares: ({ jobs: { items } }) => items.some(isKept),
  find({ jobs: { items } }, _head, { earlier }) {
    return items.flatMap((job, index): FindingDraft[] => {
      if (!isKept(job)) return [];
      const former = formerOf(job, items.slice(0, index), earlier);
      if (former === undefined) return [];
      const who =
        former.request === null
          ? 'an earlier one of this request'
          : `one that ${requestText(former.request)} had added`;
      const same = `The job ${nameOf(job)} has the id ${excerpt(job.id ?? '', 60)} of ${who}`;
      const ignored = 'BullMQ ignores it while that one is stored, waiting or done';
      const common = { anchor: `j${index + 1}`, place: job.caller };
      const difference = differenceOf(job, former.job);
      if (difference === null) return [{ ...common, severity: 'info', sentence: `${same}: ${ignored}` }];
      const { path, own, other } = difference;
      const data = `${excerpt(path, 40)} ${excerpt(own, 40)}, not ${excerpt(other, 40)}`;
      const sentence = `${same}, but other data (${data}): ${ignored}`;
      return [{ ...common, broke: 'unseen', severity: 'bad', sentence }];
    });
  },
};

interface Written {
  write: Read;
  commit: Query;
}

function writtenIn(database: Database): Written[] {
  const reads = readsOf(database);
  return transactionsOf(database).flatMap(({ members, last: commit }) => {
    if (!commits(sqlOf(database, commit))) return [];
    return reads
      .filter((one) => isWrite(one) && members.includes(one.index) && one.query.rows !== 0)
      .map((write) => ({ write, commit }));
  });
}

function missesIn(database: Database): { miss: Read; id: string }[] {
  return readsOf(database).flatMap((miss) => {
    const { read, query } = miss;
    const [by, ...others] = read.where?.filter(({ column }) => PRIMARY.test(column)) ?? [];
    if (read.verb !== 'select' || query.rows !== 0 || !read.isPlain || read.joins > 0) return [];
    if (by?.operator !== '=' || others.length > 0) return [];
    const id = givenText(by.values[0], query);
    return id === null ? [] : [{ miss, id }];
  });
}

/** The update gave the row of that id the very value that the read also asked for. */
function makesFound(write: Read, miss: Read, id: string): boolean {
  return (
    asksForKey(write, id) &&
    write.read.sets.some(({ column, value: set }) =>
      miss.read.where?.some(
        (asked) =>
          asked.column === column &&
          asked.operator === '=' &&
          givenText(asked.values[0], miss.query) !== null &&
          givenText(asked.values[0], miss.query) === givenText(set, write.query),
      ),
    )
  );
}

interface JobAround {
  request: OtherRequest;
  job: OtherRequest;
}

const OTHER_CLOCK_MS = 50;

/** The first read of the job that came before the COMMIT of the row it looked for. */
function missedBy({ request, job }: JobAround) {
  const { database: own, jobs: added } = request.kept;
  const { database, jobs } = job.kept;
  const run = jobs?.run;
  const item =
    added?.items.findIndex(({ id, queue }) => id !== null && id === run?.id && queue === run.queue) ?? -1;
  const queued = added?.items[item];
  if (own === undefined || database === undefined || run === undefined || queued === undefined) return null;
  const shiftMs = job.head.startedAt - request.head.startedAt;
  const slackMs = request.head.process === job.head.process ? 2 : OTHER_CLOCK_MS;
  const ids = new Set(leavesOf(run.data).map(({ value }) => String(value)));
  const received = receivedBy(request.head, request.kept);
  for (const { miss, id } of missesIn(database)) {
    if (!ids.has(id)) continue;
    const found = writtenIn(own).find(
      ({ write, commit }) =>
        write.read.table === miss.read.table &&
        // An id that the request was given is of a row that was there, or was never there.
        (write.read.verb === 'insert' ? !received.has(id) : makesFound(write, miss, id)) &&
        endOf(write.query) <= queued.startMs &&
        endOf(miss.query) + shiftMs + slackMs < commit.startMs,
    );
    if (found === undefined) continue;
    const earlyMs = found.commit.startMs - miss.query.startMs - shiftMs;
    return { ...found, miss, database, item, queued, own, earlyMs };
  }
  return null;
}

const jobBeforeCommit: Rule<Needs<'jobs'>> = {
  name: 'job-before-commit',
  needs: ['jobs'],
  labels: ['job before COMMIT'],
  why: 'The request wrote a row in a transaction and added a job. The job ran before the COMMIT and found no row. It asked for an id that the request had made, or for a value that the request had just given to that row.',
  fix: 'Add the job after the transaction: `const order = await db.transaction(…); await queue.add(…)`. If it must not be lost, insert it into a table of the same transaction (an outbox).',
  overlaps: () => true,
  find(kept, head, { overlapping }) {
    const self = { head, kept: { ...kept } };
    return overlapping.flatMap((other): FindingDraft[] => {
      const isJob = head.kind === 'job';
      const around = isJob ? { request: other, job: self } : { request: self, job: other };
      const found = around.job.head.kind === 'job' ? missedBy(around) : null;
      if (found === null) return [];
      const { write, miss, database, queued, own, item } = found;
      const { head: request } = around.request;
      const early = `${duration(found.earlyMs)} before the COMMIT of the transaction`;
      const row = `${labelOf(own, write.query)}${bracketed(write.query.caller)}`;
      if (isJob) {
        const sentence = `${labelOf(database, miss.query)} found no row: it ran ${early} in which ${requestText(request)} had sent ${row} and added this job${bracketed(queued.caller)}`;
        return [draftAt(miss, sentence, 'bad')];
      }
      const sentence = `The job ${nameOf(queued)} (${other.head.token}) ran ${early} with ${row}: its ${labelOf(database, miss.query)}${bracketed(miss.query.caller)} found no row`;
      return [{ broke: 'unseen', severity: 'bad', sentence, anchor: `j${item + 1}`, place: queued.caller }];
    });
  },
};

/** The last job that was added before a statement of the transaction that is no control: no `catch` added it. */
function jobWithin({ items }: Kept['jobs'], { sent, first }: Transaction, database: Database): number {
  const work = sent.findLast((query) => kindOf(database, query) !== 'control');
  return items.findLastIndex(
    (job) =>
      job.error === null &&
      job.id !== null &&
      job.startMs >= endOf(first) &&
      endOf(job) <= (work?.startMs ?? -Infinity),
  );
}

const jobOfRollback: Rule<Needs<'jobs' | 'database'>> = {
  name: 'job-of-rollback',
  needs: ['jobs', 'database'],
  labels: ['job of rollback'],
  why: 'The job was added between two statements of a transaction that was then rolled back. A ROLLBACK doesn’t remove jobs.',
  fix: 'Add the job after the transaction: `const order = await db.transaction(…); await queue.add(…)`. If it must not be lost, insert it into a table of the same transaction (an outbox).',
  find({ jobs, database }) {
    return transactionsOf(database).flatMap((transaction): FindingDraft[] => {
      const { sent, last: end } = transaction;
      if (!rollsBack(sqlOf(database, end))) return [];
      const index = jobWithin(jobs, transaction, database);
      const job = jobs.items[index];
      if (job === undefined) return [];
      const sentence = `The job ${nameOf(job)} was added ${duration(end.startMs - endOf(job))} before the ROLLBACK of the transaction around it, which undid ${count(workOf(database, sent), 'statement')} but not the job`;
      return [{ broke: 'unseen', severity: 'bad', sentence, anchor: `j${index + 1}`, place: job.caller }];
    });
  },
};

export const jobRules: readonly Rule[] = [jobIgnored, jobBeforeCommit, jobOfRollback];
