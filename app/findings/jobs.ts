/** Jobs that a queue does not take. */
import { leavesOf } from '../panels/shared/json-leaves.ts';
import type { EarlierRequest, FindingDraft, FindingRule } from '../profiler/finding-rule.ts';
import { isMasked } from '../profiler/redact.ts';
import type { Kept, Needs } from './shared/kept.ts';
import { excerpt } from './shared/wording.ts';

type Job = Kept['jobs']['items'][number];

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
  token: string | null;
}

function formerOf(
  job: Job,
  ownBefore: readonly Job[],
  earlier: readonly EarlierRequest[],
): Former | undefined {
  const jobs = [
    ...ownBefore.map((one): Former => ({ job: one, token: null })),
    ...earlier.flatMap(({ head, kept }) =>
      ((kept as Partial<Kept>).jobs?.items ?? []).map((one): Former => ({ job: one, token: head.token })),
    ),
  ];
  return jobs.find(({ job: one }) => isKept(one) && one.id === job.id && one.queue === job.queue);
}

const jobIgnored: FindingRule<Needs<'jobs'>> = {
  name: 'job-ignored',
  needs: ['jobs'],
  labels: ['job ignored'],
  why: 'The job has an id that the application chose (`jobId`), and a job with that id and other data was added to the queue before. BullMQ adds none while one of that id is stored; without `removeOnComplete: true`, done jobs are.',
  fix: 'Give each job an id of its own, such as that of the row that it is about. If the id is meant to drop repetitions, remove done jobs (`removeOnComplete: true`).',
  compares: ({ jobs: { items } }) => items.some(isKept),
  find({ jobs: { items } }, _head, { earlier }) {
    return items.flatMap((job, index): FindingDraft[] => {
      if (!isKept(job)) return [];
      const former = formerOf(job, items.slice(0, index), earlier);
      const difference = former === undefined ? null : differenceOf(job, former.job);
      if (former === undefined || difference === null) return [];
      const { path, own, other } = difference;
      const who =
        former.token === null
          ? 'an earlier one of this request'
          : `one of an earlier request (${former.token})`;
      const data = `${excerpt(path, 40)} ${excerpt(own, 40)}, not ${excerpt(other, 40)}`;
      const sentence = `The job ${excerpt(`${job.queue}/${job.name}`, 80)} has the id ${excerpt(job.id ?? '', 60)} of ${who}, but other data (${data}): BullMQ ignores it while that one is stored, waiting or done`;
      return [{ broke: 'unseen', severity: 'bad', sentence, anchor: `j${index + 1}`, place: job.caller }];
    });
  },
};

export const jobRules: readonly FindingRule[] = [jobIgnored];
