/** So many log lines that nobody reads them, and writing them takes its time. */
import type { FindingRule } from '../profiler/finding.ts';
import type { Kept } from './shared/kept.ts';
import { counted, placed } from './shared/wording.ts';

const FLOOD = 200;

/** The line that wrote most of them, where one did. */
function mostFrequent(lines: Kept['logs']['lines']): { place: string; count: number } | null {
  const counts = new Map<string, number>();
  for (const { caller } of lines)
    if (typeof caller === 'string') counts.set(caller, (counts.get(caller) ?? 0) + 1);
  const [most] = [...counts].sort((a, b) => b[1] - a[1]);
  return most === undefined || most[1] < lines.length / 2 ? null : { place: most[0], count: most[1] };
}

export const logFlood: FindingRule<Pick<Kept, 'logs'>> = {
  name: 'log-flood',
  needs: ['logs'],
  labels: ['flood of logs'],
  known:
    'Two hundred or more lines were logged while the request ran; up to a thousand are kept and counted.',
  mends:
    'Log once per request what a loop did (how many, how long), and what is for debugging at a level that is off.',
  find({ logs: { lines } }) {
    if (lines.length < FLOOD) return [];
    const most = mostFrequent(lines);
    const from = most === null ? '' : `, ${counted(most.count)} of them by one line`;
    const first = most === null ? 0 : lines.findIndex(({ caller }) => caller === most.place);
    const sentence = `${counted(lines.length, 'line')} were logged by one request${from}`;
    const common = { label: 'flood of logs', panel: 'logs', anchor: `l${first + 1}` };
    return [placed({ ...common, severity: 'info', sentence }, most?.place)];
  },
};
