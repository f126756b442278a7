/** Jobs that a queue does not take, or that are added within a transaction. */
import { leavesOf } from '../panels/shared/json-leaves.ts';
import { seenTimes } from '../panels/shared/overlap.ts';
import { receivedBy, receivedFields } from '../panels/shared/received.ts';
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
  plainSql,
  PRIMARY,
  type Read,
  readsOf,
  rowOf,
  sqlOf,
  type Transaction,
  transactionsOf,
  workOf,
} from './shared/queries.ts';
import {
  bracketed,
  count,
  duration,
  excerpt,
  LONGEST_NAME,
  requestText,
  snakeCase,
} from './shared/wording.ts';

type Job = Kept['jobs']['items'][number];

function nameOf({ queue, name }: Job): string {
  return excerpt(`${queue}/${name}`, LONGEST_NAME);
}

function isKept({ id, ownId, error }: Job): boolean {
  return error === null && id !== null && ownId?.isRemovedLater === false;
}

const LISTED_FIELDS = 4;

/** `shade B1, not A2`: values that the data of both have, and that differ; masked ones can't be compared. */
function differencesOf(job: Job, before: Job): string[] {
  const others = new Map(leavesOf(before.data).map(({ path, value }) => [path, String(value)]));
  return leavesOf(job.data).flatMap(({ path, value }) => {
    const [own, other] = [String(value), others.get(path)];
    if (other === undefined || other === own || isMasked(own) || isMasked(other)) return [];
    return [`${excerpt(path, 40)} ${excerpt(own, 40)}, not ${excerpt(other, 40)}`];
  });
}

const STORES = /^(?:SET|SETEX|PSETEX|MSET|HSET|HMSET|RPUSH|LPUSH|SADD|ZADD|XADD|JSON\.SET)$/;

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
  // The first of them is the one that was added; the others were ignored, too.
  return jobs.findLast(({ job: one }) => isKept(one) && one.id === job.id && one.queue === job.queue);
}

/** What it would do is not done yet: it wrote rows or keys before it added the job, for other values than whoever added the one that is done. */
function isNews(
  { request, database, cache }: Partial<Kept>,
  job: Job,
  former: Former | undefined,
  earlier: readonly OtherRequest[],
): boolean {
  const by = earlier.find(({ head }) => head.token === former?.request?.token)?.kept.request;
  const hasWritten =
    readsOf(database).some(
      (one) => isWrite(one) && one.query.rows !== 0 && endOf(one.query) <= job.startMs,
    ) ||
    cache?.items.some(
      (item) => item.error === null && STORES.test(item.command) && endOf(item) <= job.startMs,
    ) === true;
  const values = (of: Kept['request'] | undefined): string =>
    of === undefined ? '' : JSON.stringify(receivedFields(of));
  return hasWritten && former?.request !== null && values(request) !== values(by);
}

const jobIgnored: Rule<Needs<'jobs', 'request' | 'database' | 'cache'>> = {
  name: 'job-ignored',
  needs: ['jobs'],
  labels: ['job ignored'],
  why: 'The job has an id that the application chose (`jobId`), and a job with that id was added to the queue before, or was done in this process. BullMQ adds none while one of that id is stored; without `removeOnComplete: true`, done jobs are.',
  fix: 'Remove done and failed jobs (`removeOnComplete: true`, `removeOnFail: true`), so that the id only drops a job while an equal one waits. Jobs that differ need different ids: add the version of the row to the id.',
  compares: ({ jobs: { items } }) => items.some(isKept),
  find({ jobs: { items }, ...kept }, { method }, { earlier }) {
    return items.flatMap((job, index): FindingDraft[] => {
      if (!isKept(job)) return [];
      const former = formerOf(job, items.slice(0, index), earlier);
      const doneIn = job.ownId?.doneIn;
      const isNew = doneIn !== undefined && isNews(kept, job, former, earlier);
      if (doneIn !== undefined && (isNew || former === undefined)) {
        const sentence = `The job ${nameOf(job)} has the id ${excerpt(job.id ?? '', 60)} of one that is done (${doneIn}) and still stored: BullMQ ignored it, and no job runs for ${isNew ? 'what this request had written' : 'this request'}`;
        // A PUT or PATCH may have changed values in memory alone.
        const severity = isNew ? 'bad' : method === 'PUT' || method === 'PATCH' ? 'warn' : 'info';
        return [{ anchor: `j${index + 1}`, place: job.caller, broke: 'unseen', severity, sentence }];
      }
      if (former === undefined) return [];
      const who =
        former.request === null
          ? 'an earlier one of this request'
          : `one that ${requestText(former.request)} had added`;
      const same = `The job ${nameOf(job)} has the id ${excerpt(job.id ?? '', 60)} of ${who}`;
      const ignored =
        doneIn === undefined
          ? 'as long as that one is stored, waiting or done, BullMQ does not add this one'
          : 'that one is done and still stored, so BullMQ did not add this one, and no job runs for it';
      const common = { anchor: `j${index + 1}`, place: job.caller };
      const differences = differencesOf(job, former.job);
      if (differences.length === 0) return [{ ...common, severity: 'info', sentence: `${same}: ${ignored}` }];
      const more = differences.length > LISTED_FIELDS ? '; …' : '';
      const data = `${differences.slice(0, LISTED_FIELDS).join('; ')}${more}`;
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

type Run = NonNullable<Kept['jobs']['run']>;

/** Names of what is booked: a second time is wrong. A job may count its own runs. */
const BOOKED =
  /(?:^|[_:.-])(?:balance|stock|quantity|qty|amount|total|points|credits?|seats|remaining|available|inventory|paid|revenue|cents)(?:$|[_:.-])/i;
/** Of a thing that happens once. Of a user or an account, something may be booked again. */
const OF_ONE_EVENT =
  /^(?:event|message|delivery|order|payment|invoice|transaction|booking|refund|charge|shipment)_?(?:id|number|no)$|^(?:reference|idempotency_?key)$/i;
const OWN_MOMENT = /^(?:id|uuid)$|(?:_at|At|_on|timestamp)$/;

function isBooked(name: string): boolean {
  return BOOKED.test(snakeCase(name));
}

/** The id of the one event that the data is about: `orderId`, `order.number`, or `id` beside a `type`. */
function eventIn({ data }: Run): string | null {
  const leaves = leavesOf(data);
  const hasType = leaves.some(({ path }) => /^(?:type|event|topic)$/.test(path));
  const found = leaves.find(({ path }) => {
    const joined = path.split('.').slice(-2).join('_');
    return (
      OF_ONE_EVENT.test(joined) || OF_ONE_EVENT.test(joined.replace(/^.*_/, '')) || (path === 'id' && hasType)
    );
  });
  const id = String(found?.value ?? '');
  return id === '' || isMasked(id) ? null : id;
}

interface Booking {
  /** Equal for two that change the same by the same. */
  key: string;
  what: string;
  panel: 'cache' | 'database';
  anchor: string;
  place: string | null;
}

const ADDS_TO_KEY = /^(?:H?INCRBY(?:FLOAT)?|DECRBY|ZINCRBY)$/;

function bookingsIn({ cache, database }: Partial<Kept>): Booking[] {
  const items = cache?.items ?? [];
  const commands = items.flatMap((item, index): Booking[] => {
    const { command, key, error, caller: place } = item;
    const values = item.args.map(({ value }) => String(value));
    if (!ADDS_TO_KEY.test(command) || key === null || error !== null) return [];
    if (!isBooked(key) && !isBooked(values[0] ?? '')) return [];
    // It counts anew each time.
    if (items.some((other) => other.key === key && /^(?:DEL|UNLINK|SET)$/.test(other.command))) return [];
    const what = excerpt([command, key, ...values].join(' '), 80);
    return [{ key: what, what, panel: 'cache', anchor: `k${index + 1}`, place }];
  });
  if (database === undefined) return commands;
  const reads = readsOf(database);
  const emptied = new Set(reads.flatMap(({ read }) => (read.verb === 'delete' ? [read.table] : [])));
  const writes = reads.flatMap((one): Booking[] => {
    const { read, query, index } = one;
    if (query.rows === 0 || seenTimes(database, query) === null) return [];
    const sql = plainSql(database, query);
    const adds = read.sets.some(({ column }) => isBooked(column) && new RegExp(String.raw`\b${column} ?= ?(?:\w+\.)?${column} ?[+-]`, 'i').test(sql)); // prettier-ignore
    const values = query.bindings.filter(({ name }) => !OWN_MOMENT.test(name));
    const mayReplace = emptied.has(read.table) || /\bon conflict\b|\bon duplicate\b/i.test(sql);
    const isEntry =
      read.verb === 'insert' && !mayReplace && values.length > 1 && values.some(({ name }) => isBooked(name));
    if (!adds && !isEntry) return [];
    const key = JSON.stringify([sql, values]);
    return [
      { key, what: labelOf(database, query), panel: 'database', anchor: rowOf(index), place: query.caller },
    ];
  });
  return [...commands, ...writes];
}

const jobRanTwice: Rule<Needs<'jobs', 'cache' | 'database'>> = {
  name: 'job-ran-twice',
  needs: ['jobs'],
  labels: ['job ran twice'],
  why: 'A job with the same name and the same data, about one event such as an order, had completed before. Both added the same number to an amount, or inserted the same entry.',
  fix: 'Note the event in one step with the change (a unique index on its id, or `SET done:e_7001 1 NX`), and end if it is there. A `jobId` of BullMQ drops repetitions only while the job is stored: not with `removeOnComplete: true`.',
  compares: ({ jobs: { run } }, { kind }) =>
    kind === 'job' && run?.outcome === 'completed' && eventIn(run) !== null,
  find(kept, { kind }, { earlier }) {
    const { run } = kept.jobs;
    const event = run?.outcome === 'completed' && kind === 'job' ? eventIn(run) : null;
    if (run === undefined || event === null) return [];
    const own = bookingsIn(kept);
    const data = JSON.stringify(run.data);
    for (const { head, kept: before } of own.length === 0 ? [] : earlier) {
      const past = before.jobs?.run;
      if (past?.outcome !== 'completed' || past.queue !== run.queue || past.name !== run.name) continue;
      if (JSON.stringify(past.data) !== data) continue;
      const theirs = new Set(bookingsIn(before).map(({ key }) => key));
      const same = own.find(({ key }) => theirs.has(key));
      if (same === undefined) continue;
      const { what, key: _key, ...at } = same;
      const isSameId = run.id !== null && past.id === run.id;
      const id = isSameId ? `the same id, which was free again as completed jobs are removed, and ` : '';
      const sentence = `This job did what job ${head.token} had done before: both have ${id}the same data, about ${excerpt(event, 40)}, and both made the change ${what}`;
      const place = isSameId ? (run.addedAt ?? at.place) : at.place;
      return [{ ...at, place, broke: 'unseen', severity: 'bad', sentence }];
    }
    return [];
  },
};

export const jobRules: readonly Rule[] = [jobIgnored, jobBeforeCommit, jobOfRollback, jobRanTwice];
