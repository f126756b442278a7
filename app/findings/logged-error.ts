/** An error was logged, but the response does not report one. */
import type { ExceptionData } from '../panels/exception/data.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import type { Kept } from './shared/kept.ts';
import { wasSeen } from './shared/errors.ts';
import { isInLibrary, loggedErrorPlace, toldErrorPlace } from './shared/logged.ts';
import { count, excerpt } from './shared/wording.ts';

/** Express prints what no error handler took: an exception of this profile if it came before the end, else the response said it. */
const BY_EXPRESS = /(?:^|\/)node_modules\/express\/lib\/application\.js:/;

type Given = Pick<Kept, 'logs'> & { exception?: ExceptionData };

export const loggedError: FindingRule<Given> = {
  name: 'logged-error',
  needs: ['logs'],
  labels: ['logged error'],
  why: 'A line of level error or higher was logged during the request, and the response status is not a 5xx.',
  fix: 'Report the failure in the response, or log expected cases at a lower level. Reserve `error` for what somebody has to act on.',
  find({ logs: { lines }, exception }, { status }) {
    if (status !== null && status >= 500) return [];
    const isTold = (status !== null && status >= 400) || (exception?.errors.some(wasSeen) ?? false);
    const isError = ({ level, caller }: (typeof lines)[number]): boolean =>
      level === 'error' && !(isTold && BY_EXPRESS.test(caller ?? ''));
    const index = lines.findIndex(isError);
    const first = lines[index];
    if (first === undefined) return [];
    const errors = lines.filter(isError).length;
    const message = excerpt(first.message);
    const response = status === null ? '' : `, but the response was ${status}`;
    const sentence =
      errors === 1
        ? `An error was logged${response}: ${message}`
        : `${count(errors)} errors were logged${response}; first: ${message}`;
    const told = isInLibrary(first.caller)
      ? (toldErrorPlace(exception, first.message) ?? loggedErrorPlace(exception))
      : null;
    const place = told ?? first.caller;
    return [{ broke: 'unseen', severity: 'warn', sentence, anchor: `l${index + 1}`, place }];
  },
};
