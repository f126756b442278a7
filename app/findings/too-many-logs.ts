/** So many log lines that nobody reads them, and that writing them takes time. */
import type { FindingRule } from '../profiler/finding-rule.ts';
import type { Kept } from './shared/kept.ts';
import { count } from './shared/wording.ts';

const MANY = 200;

/** The line of code that wrote at least half of them; null if none did. */
function mostFrequent(
  { lines, unkept = [] }: Kept['logs'],
  total: number,
): { place: string; count: number } | null {
  const counts = new Map<string, number>();
  const add = (place: string | null | undefined, more: number): void => {
    if (typeof place === 'string') counts.set(place, (counts.get(place) ?? 0) + more);
  };
  for (const { caller } of lines) add(caller, 1);
  for (const { caller, count: more } of unkept) add(caller, more);
  const [most] = [...counts].sort((a, b) => b[1] - a[1]);
  return most === undefined || most[1] < total / 2 ? null : { place: most[0], count: most[1] };
}

export const tooManyLogs: FindingRule<Pick<Kept, 'logs'>> = {
  name: 'too-many-logs',
  needs: ['logs'],
  labels: ['too many logs'],
  why: 'The request logged at least 200 lines while it ran.',
  fix: 'Log once per loop (how many, how long), and use a level that is switched off for debugging output.',
  find({ logs }) {
    const { lines, unkept = [] } = logs;
    const total = unkept.reduce((sum, { count: more }) => sum + more, lines.length);
    if (total < MANY) return [];
    const most = mostFrequent(logs, total);
    const share = most === null ? '' : `, ${count(most.count)} of them from one line of code`;
    const first = most === null ? 0 : lines.findIndex(({ caller }) => caller === most.place);
    const sentence = `This request logged ${count(total, 'line')}${share}`;
    return [{ severity: 'info', sentence, anchor: `l${first + 1}`, place: most?.place }];
  },
};
