/** Something was logged as an error, and whoever asked was told that all is well. */
import type { FindingRule } from '../profiler/finding.ts';
import type { Kept } from './shared/kept.ts';
import { counted, excerpt, placed } from './shared/wording.ts';

export const loggedError: FindingRule<Pick<Kept, 'logs'>> = {
  name: 'logged-error',
  needs: ['logs'],
  labels: ['logged error'],
  known: 'A line of level error or above was logged during the request, and the answer was no 5xx.',
  mends:
    'Answer what happened, or log at a lower level what is expected; an error that nobody needs to act on is none.',
  find({ logs: { lines } }, { status }) {
    const index = lines.findIndex(({ level }) => level === 'error');
    if (status !== null && status >= 500) return [];
    const first = lines[index];
    if (first === undefined) return [];
    const errors = lines.filter(({ level }) => level === 'error').length;
    const message = excerpt(first.message);
    const answered = status === null ? '' : `, and the answer was ${status}`;
    const sentence =
      errors === 1
        ? `An error was logged${answered}: ${message}`
        : `${counted(errors)} errors were logged${answered}; the first: ${message}`;
    const common = { label: 'logged error', panel: 'logs', anchor: `l${index + 1}` };
    return [placed({ ...common, severity: 'warn', sentence }, first.caller)];
  },
};
