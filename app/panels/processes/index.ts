/** The panel of child processes: their commands and exit codes, and whether the event loop waited for them. */
import type { Facts } from '../../profiler/record/facts.ts';
import { type ListData, listPanel } from '../shared/list-panel.ts';

type Process = Facts['process'];

function outcomeOf({ durationMs, exitCode, signal, error }: Process): string {
  if (durationMs === null) return 'running';
  if (error !== null) return 'not started';
  return signal !== null ? `ended by ${signal}` : `exit code ${exitCode ?? 'unknown'}`;
}

export type ProcessesData = ListData<Facts['process']>;

export const processesPanel = listPanel({
  name: 'processes',
  title: 'Processes',
  fact: 'process',
  noun: 'child processes',
  menu: { key: 'x', optional: true, rank: 47 },
  searched: ['command', 'value'],
  nothing: {
    what: 'This request started no child process.',
    why: 'Recorded: node:child_process, its synchronous calls too. What a child process does is not recorded.',
  },
  letter: 'p',
  section: {
    id: 'processes',
    title: 'Child processes',
    note: 'in the order they were started',
    columns: { text: 'Command', badges: 'Marks', note: 'Outcome', place: 'Started from' },
  },
  totals: ['Child processes', 'Time in child processes'],
  span: ({ command }) => command,
  row(one) {
    const { command, args, isSync, durationMs } = one;
    const failed = one.error !== null || one.signal !== null || (one.exitCode ?? 0) !== 0;
    return {
      text: [command, ...args.map(({ value }) => value)].join(' '),
      tone: failed ? 'bad' : isSync || durationMs === null ? 'warn' : 'plain',
      badges: [...(failed ? ['failed'] : []), ...(isSync ? ['blocks the event loop'] : [])],
      note: outcomeOf(one),
      key: command,
    };
  },
});
