/** An outgoing call that got no response, or a 5xx. */
import type { FindingRule } from '../profiler/finding-rule.ts';
import { hasFailed } from '../panels/shared/failed-call.ts';
import { callName, triesOf } from './shared/calls.ts';
import type { Kept } from './shared/kept.ts';
import { count, excerpt, failureOf } from './shared/wording.ts';

export const failedCall: FindingRule<Pick<Kept, 'http_client'>> = {
  name: 'failed-call',
  needs: ['http_client'],
  labels: ['call failed', 'failure ignored'],
  why: 'The call ended without a response or with a 5xx, and was not retried. The other status is the one that this request sent.',
  fix: 'Say in the response what is missing, or respond with 502 or 503. Give the call a timeout, and log its error.',
  find({ http_client: { calls, totals } }, { status }) {
    if (totals.failed === 0) return [];
    // Retried calls have their own rule.
    const retried = new Set(triesOf(calls).flat());
    const failed = calls.flatMap((call, index) =>
      hasFailed(call) && !retried.has(index) ? [{ call, index }] : [],
    );
    const [first] = failed;
    if (first === undefined) return [];
    const { call, index } = first;
    const how = call.error === null ? `returned ${call.status ?? ''}` : `failed (${excerpt(call.error)})`;
    const more = failed.length > 1 ? `, as did ${count(failed.length - 1, 'other call')}` : '';
    const what = `${callName(call)} ${how}${more}`;
    return [
      {
        ...failureOf(what, status),
        severity: 'warn',
        anchor: `c${index + 1}`,
        costMs: call.durationMs ?? 0,
        place: call.caller,
      },
    ];
  },
};
