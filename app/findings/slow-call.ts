/** A call that took a large share of the request, with its slowest part. */
import type { FindingRule } from '../profiler/finding-rule.ts';
import { hasFailed } from '../panels/shared/failed-call.ts';
import { callName } from './shared/calls.ts';
import type { Call, Kept } from './shared/kept.ts';
import { isMostlyHeld, lengthOf, usualText } from './shared/long.ts';
import { waitsOf } from './shared/slow-work.ts';
import { count, duration, shareOf } from './shared/wording.ts';

/** A call is slow above both. */
const SLOW_MS = 100;
const SLOW_SHARE = 0.3;
/** A part is named from this share of the call on. */
const LARGE_PART = 0.5;
/** A single step is named from this share of opening the connection on. */
const MAIN_STEP = 0.8;

interface Opening {
  lookupMs: number | null;
  connectMs: number | null;
  tlsMs: number | null;
  openMs: number;
}

/** The step that took most of opening the connection, or all of it. */
function opening({ lookupMs, connectMs, tlsMs, openMs }: Opening): [string, number][] {
  const steps: [string, number | null][] = [
    ['looking up the name', lookupMs],
    ['connecting', connectMs],
    ['in the TLS handshake', tlsMs],
  ];
  const main = steps.find(([, ms]) => (ms ?? 0) >= openMs * MAIN_STEP);
  return openMs === 0 ? [] : [[main?.[0] ?? 'opening the connection', main?.[1] ?? openMs]];
}

/** The part that took most of the call; null if none did. */
function slowPart({ connection, headersMs, durationMs }: Call): string | null {
  if (headersMs === null || durationMs === null) return null;
  const { lookupMs = 0, connectMs = 0, tlsMs = 0 } = connection ?? {};
  const openMs = (lookupMs ?? 0) + (connectMs ?? 0) + (tlsMs ?? 0);
  const parts: [string, number][] = [
    ...opening({ lookupMs, connectMs, tlsMs, openMs }),
    ['waiting for the response', headersMs - openMs],
    ['downloading the response', durationMs - headersMs],
  ];
  const [what, ms] = parts.sort((a, b) => b[1] - a[1])[0] ?? ['', 0];
  return ms >= durationMs * LARGE_PART ? `${duration(ms)} of it ${what}` : null;
}

/** ` while 2 other slow calls ran`. */
function besideText(others: number): string {
  return others === 0 ? '' : ` while ${count(others, 'other slow call')} ran`;
}

export const slowCall: FindingRule<Pick<Kept, 'http_client'>> = {
  name: 'slow-call',
  needs: ['http_client'],
  labels: ['slow call'],
  why: 'The call took at least 100 ms and 30 % of the request, or half of one that took three times as long as its route usually does. Calls that ran side by side are one wait. The parts are as reported by the HTTP client.',
  fix: 'Set a timeout. Cache the result, start the call before other work, or make it after the response. If connecting is slow, keep connections open.',
  find({ http_client: { calls } }, { durationMs: wholeMs }, from) {
    const { usualMs } = from;
    if (wholeMs === null) return [];
    const slow = calls
      .map((call, index) => ({ ...call, index, ms: call.durationMs ?? 0 }))
      .filter(
        ({ ms }) =>
          ms >= wholeMs * SLOW_SHARE && lengthOf(ms, wholeMs, { longMs: SLOW_MS, usualMs }) !== null,
      )
      .filter((call) => !hasFailed(call))
      .filter((call) => !isMostlyHeld(call, from.time));
    return waitsOf(slow).map(({ longest: call, beside }) => {
      const { index, ms } = call;
      const part = slowPart(call);
      const isUnusual = ms < SLOW_MS;
      const sentence = `${callName(call)} took ${shareOf(ms, wholeMs)}${part === null ? '' : `, ${part}`}${besideText(beside.length)}${isUnusual ? usualText(usualMs) : ''}`;
      const severity = isUnusual ? 'info' : 'warn';
      return { severity, sentence, anchor: `c${index + 1}`, costMs: ms, place: call.caller };
    });
  },
};
