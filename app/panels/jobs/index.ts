/** The panel of jobs: those that the request added, or the one that the profile is about. */
import type { Facts } from '../../profiler/record/facts.ts';
import { jsonBlock, type Section } from '../../profiler/read/rows.ts';
import { type ListData, listPanel } from '../shared/list-panel.ts';

interface JobRun {
  run?: Facts['jobRun'];
}

const OTHER_WORKER = 'BullMQ gives each job of a queue to any of its workers.';

function runSection(run: Facts['jobRun']): Section {
  const {
    queue,
    name,
    id,
    data,
    attempt,
    attempts,
    waitedMs,
    result,
    outcome,
    worker,
    otherWorkers = [],
  } = run;
  return {
    id: 'job',
    title: 'Job',
    rows: [
      { label: 'Queue', text: queue },
      { label: 'Name', text: name },
      { label: 'Id', text: id, varies: true },
      { label: 'Outcome', text: outcome, tone: outcome === 'failed' ? 'bad' : 'plain' },
      { label: 'Attempt', text: `${attempt} of ${attempts}`, tone: attempt > 1 ? 'warn' : 'plain' },
      ...(waitedMs === null ? [] : [{ label: 'Waited in the queue', number: waitedMs }]),
      ...(worker === undefined ? [] : [{ label: 'Worker', place: worker }]),
      ...otherWorkers.map((place) => ({ label: 'Another worker of this queue', note: OTHER_WORKER, place })),
      { label: 'Data', block: jsonBlock(data) },
      ...(outcome === 'completed' ? [{ label: 'Result', block: jsonBlock(result) }] : []),
    ],
  };
}

/** `run`: the job that the profile is about; absent in a request. */
export type JobsData = ListData<Facts['job'], JobRun>;

export const jobsPanel = listPanel<'job', JobRun>({
  name: 'jobs',
  title: 'Jobs',
  fact: 'job',
  noun: 'jobs',
  menu: { key: 'j', optional: true, rank: 46 },
  searched: ['queue', 'name', 'id', 'data'],
  nothing: {
    what: 'This request added no job.',
    why: 'Recorded: bullmq 5 and later, and each job that a worker in this process runs.',
  },
  letter: 'j',
  section: {
    id: 'added',
    title: 'Jobs added',
    note: 'the overview links to jobs that this process ran',
    columns: { label: 'Queue', text: 'Job', badges: 'Failure', place: 'Added from' },
  },
  totals: ['Jobs added', 'Time adding jobs'],
  span: ({ queue, name }) => `add job ${queue}/${name}`,
  row: ({ queue, name, id, ownId, data, delayMs }) => ({
    label: queue,
    text: name,
    key: `${queue} ${name}`,
    fields: [
      { label: ownId === undefined ? 'Id' : 'Own id', value: id },
      { label: 'Delay', value: delayMs === 0 ? null : delayMs, unit: 'ms' },
    ],
    block: jsonBlock(data),
  }),
  facts: { jobRun: 'job runs' },
  more(record) {
    const run = record.first('jobRun');
    return run === undefined ? null : { run };
  },
  sections: ({ run }) => (run === undefined ? {} : { above: [runSection(run)] }),
  summary: ({ run }) =>
    run === undefined ? {} : { text: run.outcome, ...(run.outcome === 'failed' ? { tone: 'bad' } : {}) },
});
