/** A call that took a large part of the request, and which part of it did. */
import type { FindingRule } from '../profiler/finding.ts';
import { callName, hasFailed } from './shared/calls.ts';
import type { Call, Kept } from './shared/kept.ts';
import { duration, placed, shareOf } from './shared/wording.ts';

/** A call is slow above both. */
const SLOW_MS = 100;
const SLOW_SHARE = 0.3;
/** A part of it that is worth naming. */
const LARGE_PART = 0.5;

/** The part that took most, where it is known and was most of it. */
function slowPart({ connection, headersMs, durationMs }: Call): string | null {
  if (headersMs === null || durationMs === null) return null;
  const openMs = (connection?.lookupMs ?? 0) + (connection?.connectMs ?? 0) + (connection?.tlsMs ?? 0);
  const parts: [string, number][] = [
    ['to open the connection', openMs],
    ['until the answer began', headersMs - openMs],
    ['to read the answer', durationMs - headersMs],
  ];
  const [what, ms] = parts.sort((a, b) => b[1] - a[1])[0] ?? ['', 0];
  return ms >= durationMs * LARGE_PART ? `${duration(ms)} of it ${what}` : null;
}

export const slowCall: FindingRule<Pick<Kept, 'http_client'>> = {
  name: 'slow-call',
  needs: ['http_client'],
  labels: ['slow call'],
  known:
    'The call took 100 ms or longer and three tenths of the request or more; the parts are those that the client tells of.',
  mends:
    'Give it a time limit; keep its answer for a while, start it before other work, or do it after the answer. Where connecting is slow, keep connections open.',
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
