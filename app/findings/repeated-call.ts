/** A call that repeats an earlier one with nothing sent in between: its result was already known. */
import type { FindingRule } from '../profiler/finding-rule.ts';
import { coveredMs, pick } from '../panels/shared/rows.ts';
import { callName, isReading } from './shared/calls.ts';
import { type Call, endOf, type Kept } from './shared/kept.ts';
import { count, shareOf } from './shared/wording.ts';

/** Headers that can change the response of the same address. */
const SIGNIFICANT_HEADERS = new Set([
  'authorization',
  'cookie',
  'accept',
  'accept-language',
  'range',
  'x-api-key',
]);

/** Equal masked values have equal marks. */
function keyOf({ method, url, requestHeaders }: Call): string {
  const headers = requestHeaders
    .filter(({ name }) => SIGNIFICANT_HEADERS.has(name.toLowerCase()))
    .map(({ name, value }) => `${name.toLowerCase()}: ${value}`);
  return [method, url, ...headers].join('\n');
}

/** Indexes of identical successful calls, in runs that no other kind of call interrupts. */
function repeatedIn(calls: readonly Call[]): number[][] {
  const latest = new Map<string, { members: number[]; writes: number }>();
  const all: number[][] = [];
  let writes = 0;
  calls.forEach((call, index) => {
    if (!isReading(call)) writes++;
    else if (call.error === null && (call.status ?? 0) < 400) {
      const key = keyOf(call);
      const run = latest.get(key);
      if (run?.writes === writes) run.members.push(index);
      else {
        const started = { members: [index], writes };
        latest.set(key, started);
        all.push(started.members);
      }
    }
  });
  return all.filter(({ length }) => length > 1);
}

/** `same`: each got the same body, `other`: they differ; null if the bodies are unknown. */
function responsesOf(calls: readonly Call[]): 'same' | 'other' | null {
  const bodies = calls.map(({ responseBody }) => responseBody);
  if (bodies.some((body) => body === undefined || body.text === null || body.truncated)) return null;
  return bodies.every((body) => body?.text === bodies[0]?.text) ? 'same' : 'other';
}

export const repeatedCall: FindingRule<Pick<Kept, 'http_client'>> = {
  name: 'repeated-call',
  needs: ['http_client'],
  labels: ['repeated call'],
  why: 'At least two GET or HEAD calls of this request had the same address, credentials and accept headers, with no other kind of call in between; where their responses are recorded, they were the same.',
  fix: 'Call once and pass the result on. If several places ask at the same time, share the promise or cache the result briefly.',
  find({ http_client: { calls } }, { durationMs: wholeMs }) {
    if (calls.length < 2) return [];
    return repeatedIn(calls).flatMap((members) => {
      const of = pick(calls, members);
      const [first, second] = of;
      const responses = responsesOf(of);
      // It was asked again for what had changed.
      if (first === undefined || second === undefined || responses === 'other') return [];
      const costMs = coveredMs(of.slice(1));
      const isConcurrent = of.every((call) => call === first || call.startMs < endOf(first));
      const sentence = `${callName(first)} was called ${count(of.length)} times with the same address${isConcurrent ? ' at the same time' : ''}${responses === 'same' ? ' and got the same response' : ''}; the repeats took ${shareOf(costMs, wholeMs)}`;
      return [
        { severity: 'warn', sentence, anchor: `c${(members[1] ?? 0) + 1}`, costMs, place: second.caller },
      ];
    });
  },
};
