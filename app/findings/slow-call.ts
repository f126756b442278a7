/** A call that took a large share of the request, with its slowest part. */
import type { FindingRule } from '../profiler/finding-rule.ts';
import { hasFailed } from '../panels/shared/failed-call.ts';
import { callName } from './shared/calls.ts';
import type { Call, Kept } from './shared/kept.ts';
import { duration, placed, shareOf } from './shared/wording.ts';

/** A call is slow above both. */
const SLOW_MS = 100;
const SLOW_SHARE = 0.3;
/** A part is named from this share of the call on. */
const LARGE_PART = 0.5;

/** The part that took most of the call; null if none did. */
function slowPart({ connection, headersMs, durationMs }: Call): string | null {
  if (headersMs === null || durationMs === null) return null;
  const openMs = (connection?.lookupMs ?? 0) + (connection?.connectMs ?? 0) + (connection?.tlsMs ?? 0);
  const parts: [string, number][] = [
    ['opening the connection', openMs],
    ['waiting for the response', headersMs - openMs],
    ['downloading the response', durationMs - headersMs],
  ];
  const [what, ms] = parts.sort((a, b) => b[1] - a[1])[0] ?? ['', 0];
  return ms >= durationMs * LARGE_PART ? `${duration(ms)} of it ${what}` : null;
}

export const slowCall: FindingRule<Pick<Kept, 'http_client'>> = {
  name: 'slow-call',
  needs: ['http_client'],
  labels: ['slow call'],
  why: 'The call took at least 100 ms and 30 % of the request. Its parts are as reported by the HTTP client.',
  fix: 'Set a timeout. Cache the result, start the call before other work, or make it after the response. If connecting is slow, keep connections open.',
  find({ http_client: { calls } }, { durationMs: wholeMs }) {
    if (wholeMs === null) return [];
    return calls
      .map((call, index) => ({ call, index, ms: call.durationMs ?? 0 }))
      .filter(({ call, ms }) => ms >= SLOW_MS && ms >= wholeMs * SLOW_SHARE && !hasFailed(call))
      .sort((a, b) => b.ms - a.ms)
      .map(({ call, index, ms }) => {
        const part = slowPart(call);
        const sentence = `${callName(call)} took ${shareOf(ms, wholeMs)}${part === null ? '' : `, ${part}`}`;
        const common = { label: 'slow call', panel: 'http_client', anchor: `c${index + 1}` };
        return placed({ ...common, severity: 'warn', sentence, costMs: ms }, call.caller);
      });
  },
};
