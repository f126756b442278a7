/** The process ended, or the profiler was closed, while the request ran. */
import type { KeptRequest } from '../panels/request/data.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { duration } from './shared/wording.ts';

export const cutOff: FindingRule<{ request: KeptRequest }> = {
  name: 'cut-off',
  needs: ['request'],
  labels: ['cut off'],
  why: 'The request had not finished when its process stored what was recorded and ended.',
  fix: 'If a signal ended the process, give it more time to drain, or let the request take less. If an error did, the exception panel of this request or of another one that ran has it.',
  find(_kept, { outcome, durationMs }) {
    if (outcome !== 'cut off') return [];
    const after = durationMs === null ? 'while this ran' : `after this had run for ${duration(durationMs)}`;
    const sentence = `The process ended ${after}`;
    return [{ severity: 'warn', sentence, panel: 'timeline' }];
  },
};
