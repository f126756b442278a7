/** So many log lines that nobody reads them, and that writing them takes time. */
import type { FindingRule } from '../profiler/finding-rule.ts';
import type { Kept } from './shared/kept.ts';
import { count } from './shared/wording.ts';

const MANY = 200;

/** The line of code that wrote at least half of them; null if none did. */
function mostFrequent(lines: Kept['logs']['lines']): { place: string; count: number } | null {
  const counts = new Map<string, number>();
  for (const { caller } of lines)
    if (typeof caller === 'string') counts.set(caller, (counts.get(caller) ?? 0) + 1);
  const [most] = [...counts].sort((a, b) => b[1] - a[1]);
  return most === undefined || most[1] < lines.length / 2 ? null : { place: most[0], count: most[1] };
}

export const tooManyLogs: FindingRule<Pick<Kept, 'logs'>> = {
  name: 'too-many-logs',
  needs: ['logs'],
  labels: ['too many logs'],
  why: 'The request logged at least 200 lines while it ran. Up to 1,000 are stored; all count.',
  fix: 'Log once per loop (how many, how long), and use a level that is switched off for debugging output.',
  find({ logs: { lines, unkept = {} } }) {
    if (lines.length < MANY) return [];
    const most = mostFrequent(lines);
    const total = Object.values(unkept).reduce((sum, of) => sum + of, lines.length);
    const of = total === lines.length ? 'of them' : `of the ${count(lines.length)} kept`;
    const share = most === null ? '' : `, ${count(most.count)} ${of} from one line of code`;
    const first = most === null ? 0 : lines.findIndex(({ caller }) => caller === most.place);
    const sentence = `This request logged ${count(total, 'line')}${share}`;
    return [{ severity: 'info', sentence, anchor: `l${first + 1}`, place: most?.place }];
  },
};
