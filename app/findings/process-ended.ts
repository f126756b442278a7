/** The request whose error, or call of `process.exit()`, ended its process. */
import type { KeptRequest } from '../panels/request/data.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';

export const processEnded: FindingRule<{ request: KeptRequest }> = {
  name: 'process-ended',
  needs: ['request'],
  labels: ['process ended'],
  why: 'The error was thrown, or `process.exit()` called, in the async context of this request, and the process ended with it.',
  fix: 'Fix the error that the exception panel shows; the last queries and log lines say what ran just before. An error in a callback or a promise that nothing awaits reaches no error handler: await it, or pass it to `next()`.',
  find(_kept, { endedProcess, error }) {
    if (endedProcess === undefined) return [];
    return [
      {
        severity: 'bad',
        broke: 'response',
        sentence: `This request ended its process by ${endedProcess}`,
        panel: error === null ? 'timeline' : 'exception',
      },
    ];
  },
};
