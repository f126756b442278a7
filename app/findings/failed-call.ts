/** A call that got no answer, or one that says that the service failed. */
import type { FindingRule } from '../profiler/finding.ts';
import { callName, hasFailed, triesOf } from './shared/calls.ts';
import type { Kept } from './shared/kept.ts';
import { counted, excerpt, placed } from './shared/wording.ts';

export const failedCall: FindingRule<Pick<Kept, 'http_client'>> = {
  name: 'failed-call',
  needs: ['http_client'],
  labels: ['call failed', 'failed unnoticed'],
  known:
    'The call ended without an answer, or was answered 5xx, and was not made again; the status of the answer is the one that was sent.',
  mends:
    'Say in the answer what is missing, or answer 502 or 503; give the call a time limit, and log what came back.',
  find({ http_client: { calls, totals } }, { status }) {
    if (totals.failed === 0) return [];
    // What was tried again is told of as such.
    const again = new Set(triesOf(calls).flat());
    const failed = calls.flatMap((call, index) =>
      hasFailed(call) && !again.has(index) ? [{ call, index }] : [],
    );
    const [first] = failed;
    if (first === undefined) return [];
    const { call, index } = first;
    const unnoticed = status !== null && status < 400;
    const how = call.error === null ? `it answered ${call.status ?? ''}` : excerpt(call.error);
    const more = failed.length > 1 ? ` (and ${counted(failed.length - 1, 'other')})` : '';
    const what = `${callName(call)} failed${more}: ${how}`;
    return [
      placed(
        {
          label: unnoticed ? 'failed unnoticed' : 'call failed',
          severity: 'warn',
          sentence: unnoticed ? `The answer was ${status} although ${what}` : what,
          panel: 'http_client',
          anchor: `c${index + 1}`,
          costMs: call.durationMs ?? 0,
        },
        call.caller,
      ),
    ];
  },
};
