/** The panel of child processes: what was run, how it ended, and whether the event loop waited for it. */
import type { FactReader } from '../../profiler/recorded-facts.ts';
import type { Facts } from '../../profiler/facts.ts';
import type { Panel } from '../../profiler/panel.ts';
import type { Presentation, Row } from '../../profiler/rows.ts';
import { workSpans } from '../../profiler/span.ts';
import { totalMs, withRoundedTimes } from '../shared/rows.ts';

type Process = Facts['process'];

export interface ProcessesData {
  processes: Process[];
}

function dataOf(record: FactReader): ProcessesData | null {
  const facts = record.all('process');
  if (facts.length === 0) return null;
  return { processes: facts.map(withRoundedTimes) };
}

function hasFailed({ exitCode, signal, error }: Process): boolean {
  return error !== null || signal !== null || (exitCode ?? 0) !== 0;
}

function outcomeOf({ durationMs, exitCode, signal, error }: Process): string {
  if (durationMs === null) return 'running';
  return error !== null
    ? 'not started'
    : signal !== null
      ? `ended by ${signal}`
      : `exit code ${exitCode ?? 'unknown'}`;
}

function rowOf(one: Process, index: number): Row {
  const { command, args, isSync, startMs, durationMs, error, caller } = one;
  const failed = hasFailed(one);
  return {
    id: `p${index + 1}`,
    text: [command, ...args.map(({ value }) => value)].join(' '),
    number: durationMs,
    tone: failed ? 'bad' : isSync || durationMs === null ? 'warn' : 'plain',
    badges: [...(failed ? ['failed'] : []), ...(isSync ? ['blocks the event loop'] : [])],
    note: outcomeOf(one),
    place: caller,
    key: command,
    fields: [
      { label: 'Start', value: startMs, unit: 'at' },
      { label: 'Error', value: error },
    ],
  };
}

function present({ processes }: ProcessesData): Presentation {
  const failed = processes.filter(hasFailed).length;
  return {
    figures: [
      { label: 'Child processes', value: processes.length, compare: 'cost' },
      { label: 'Time in child processes', value: totalMs(processes), unit: 'ms', compare: 'cost' },
      { label: 'Failed', value: failed, tone: failed > 0 ? 'bad' : 'plain' },
    ],
    sections: [
      {
        id: 'processes',
        title: 'Child processes',
        note: 'in the order they were started',
        columns: { text: 'Command', badges: 'Marks', note: 'Outcome', place: 'Started from' },
        card: 'in order',
        rows: processes.map(rowOf),
      },
    ],
  };
}

export const processesPanel: Panel<ProcessesData> = {
  name: 'processes',
  title: 'Processes',
  key: 'x',
  optional: true,
  toolbar: { rank: 47 },
  searched: ['command', 'value'],
  facts: { process: 'child processes' },
  reads: ['process'],
  data: dataOf,
  spans: ({ processes }, { endMs }) =>
    workSpans(processes, { endMs, panel: 'processes', letter: 'p', labelOf: ({ command }) => command }),
  summary: ({ processes }) => ({
    text: String(processes.length),
    tone: processes.some(hasFailed) ? 'bad' : processes.some(({ isSync }) => isSync) ? 'warn' : 'plain',
    count: processes.length,
  }),
  empty: () => ({
    what: 'This request started no child process.',
    why: 'Recorded: node:child_process, its synchronous calls too. What a child process does is not recorded.',
  }),
  present,
};
