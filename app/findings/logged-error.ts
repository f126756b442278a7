/** An error was logged, but the response does not report one. */
import type { FindingRule } from '../profiler/finding-rule.ts';
import type { Kept } from './shared/kept.ts';
import { count, excerpt, placed } from './shared/wording.ts';

export const loggedError: FindingRule<Pick<Kept, 'logs'>> = {
  name: 'logged-error',
  needs: ['logs'],
  labels: ['logged error'],
  why: 'A line of level error or higher was logged during the request, and the response status is not a 5xx.',
  fix: 'Report the failure in the response, or log expected cases at a lower level. Reserve `error` for what somebody has to act on.',
  find({ logs: { lines } }, { status }) {
    const index = lines.findIndex(({ level }) => level === 'error');
    if (status !== null && status >= 500) return [];
    const first = lines[index];
    if (first === undefined) return [];
    const errors = lines.filter(({ level }) => level === 'error').length;
    const message = excerpt(first.message);
    const response = status === null ? '' : `, but the response was ${status}`;
    const sentence =
      errors === 1
        ? `An error was logged${response}: ${message}`
        : `${count(errors)} errors were logged${response}; first: ${message}`;
    const common = { label: 'logged error', panel: 'logs', anchor: `l${index + 1}` };
    return [placed({ ...common, broke: 'unseen', severity: 'warn', sentence }, first.caller)];
  },
};
