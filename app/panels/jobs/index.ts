/** The panel of jobs: those that the request added, or the one that the profile is about. */
import type { FactReader } from '../../profiler/recorded-facts.ts';
import type { Facts } from '../../profiler/facts.ts';
import type { Panel } from '../../profiler/panel.ts';
import type { Presentation, Row, Section } from '../../profiler/rows.ts';
import { workSpans } from '../../profiler/span.ts';
import { roundOrNull, totalMs, withRoundedTimes } from '../shared/rows.ts';

type JobFact = Facts['job'];
type JobRunFact = Facts['jobRun'];

export interface JobsData {
  added: JobFact[];
  /** The job that the profile is about; absent in a request. */
  run?: JobRunFact;
}

function dataOf(record: FactReader): JobsData | null {
  const added = record.all('job');
  const run = record.first('jobRun');
  if (added.length === 0 && run === undefined) return null;
  return {
    added: added.map(withRoundedTimes),
    ...(run === undefined ? {} : { run: { ...run, waitedMs: roundOrNull(run.waitedMs) } }),
  };
}

function json(value: JobFact['data']): { text: string; language: 'json' } {
  return { text: JSON.stringify(value, null, 2), language: 'json' };
}

function addedRow(job: JobFact, index: number): Row {
  const { queue, name, id, data, delayMs, startMs, durationMs, error, caller } = job;
  return {
    id: `j${index + 1}`,
    label: queue,
    text: name,
    number: durationMs,
    tone: error !== null ? 'bad' : durationMs === null ? 'warn' : 'plain',
    badges: error !== null ? ['failed'] : [],
    place: caller,
    key: `${queue} ${name}`,
    fields: [
      { label: 'Id', value: id },
      { label: 'Delay', value: delayMs === 0 ? null : delayMs, unit: 'ms' },
      { label: 'Start', value: startMs, unit: 'at' },
      { label: 'Error', value: error },
    ],
    block: json(data),
  };
}

function runSections({
  queue,
  name,
  id,
  data,
  attempt,
  attempts,
  waitedMs,
  result,
  outcome,
}: JobRunFact): Section[] {
  return [
    {
      id: 'job',
      title: 'Job',
      rows: [
        { label: 'Queue', text: queue },
        { label: 'Name', text: name },
        { label: 'Id', text: id, varies: true },
        { label: 'Outcome', text: outcome, tone: outcome === 'failed' ? 'bad' : 'plain' },
        { label: 'Attempt', text: `${attempt} of ${attempts}`, tone: attempt > 1 ? 'warn' : 'plain' },
        ...(waitedMs === null ? [] : [{ label: 'Waited in the queue', number: waitedMs }]),
        { label: 'Data', block: json(data) },
        ...(outcome === 'completed' ? [{ label: 'Result', block: json(result) }] : []),
      ],
    },
  ];
}

function present({ added, run }: JobsData): Presentation {
  return {
    figures: [
      { label: 'Jobs added', value: added.length, compare: 'cost' },
      { label: 'Time in adding jobs', value: totalMs(added), unit: 'ms', compare: 'cost' },
    ],
    sections: [
      ...(run === undefined ? [] : runSections(run)),
      {
        id: 'added',
        title: 'Jobs added',
        note: 'their profiles are linked above, where this process worked on them',
        columns: { label: 'Queue', text: 'Job', badges: 'Failure', place: 'Added from' },
        card: 'in order',
        rows: added.map(addedRow),
      },
    ],
  };
}

export const jobsPanel: Panel<JobsData> = {
  name: 'jobs',
  title: 'Jobs',
  key: 'j',
  optional: true,
  toolbar: { rank: 46 },
  searched: ['queue', 'name', 'id', 'data'],
  facts: { job: 'jobs' },
  reads: ['job', 'jobRun'],
  data: dataOf,
  spans: ({ added }, { endMs }) =>
    workSpans(added, {
      endMs,
      panel: 'jobs',
      letter: 'j',
      labelOf: ({ queue, name }) => `add job ${queue}/${name}`,
    }),
  summary: ({ added, run }) => ({
    text: run === undefined ? String(added.length) : run.outcome,
    tone: run?.outcome === 'failed' || added.some(({ error }) => error !== null) ? 'bad' : 'plain',
    count: added.length,
  }),
  empty: () => ({
    what: 'This request added no job.',
    why: 'Recorded: bullmq 5 and later, and each job that a worker of this process works on.',
  }),
  present,
};
