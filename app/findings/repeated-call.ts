/** A call that asks what was asked before, with nothing sent in between: its answer was there already. */
import type { FindingRule } from '../profiler/finding.ts';
import { callName, hasFailed, isReading } from './shared/calls.ts';
import { type Call, endOf, type Kept } from './shared/kept.ts';
import { counted, dearestFirst, placed, shareOf } from './shared/wording.ts';

/** Headers by which the same address may answer otherwise. */
const ASKED_WITH = new Set(['authorization', 'cookie', 'accept', 'accept-language', 'range', 'x-api-key']);

function keyOf({ method, url, requestHeaders }: Call): string {
  const with_ = requestHeaders
    .filter(({ name }) => ASKED_WITH.has(name.toLowerCase()))
    .map(({ name, value }) => `${name.toLowerCase()}: ${value}`);
  return [method, url, ...with_].join('\n');
}

/** Indexes of calls that were the same and went well, in runs that no other kind of call interrupts. */
function repeatedIn(calls: readonly Call[]): number[][] {
  const known = new Map<string, { members: number[]; writes: number }>();
  const all: number[][] = [];
  let writes = 0;
  calls.forEach((call, index) => {
    if (!isReading(call)) writes++;
    else if (!hasFailed(call) && call.status !== 429 && call.status !== 408) {
      const key = keyOf(call);
      const before = known.get(key);
      if (before?.writes === writes) before.members.push(index);
      else {
        const begun = { members: [index], writes };
        known.set(key, begun);
        all.push(begun.members);
      }
    }
  });
  return all.filter(({ length }) => length > 1);
}

export const repeatedCall: FindingRule<Pick<Kept, 'http_client'>> = {
  name: 'repeated-call',
  needs: ['http_client'],
  labels: ['repeated call'],
  known:
    'Two or more GET or HEAD calls of one request went to the same address with the same credentials and wishes, and nothing was sent in between.',
  mends:
    'Call once and hand the answer on; share the promise where several places ask at the same time, or keep answers for a while.',
  find({ http_client: { calls } }, { durationMs: wholeMs }) {
    if (calls.length < 2) return [];
    return dearestFirst(
      repeatedIn(calls).flatMap((members) => {
        const of = members.map((index) => calls[index]).filter((call) => call !== undefined);
        const [first, second] = of;
        if (first === undefined || second === undefined) return [];
        const costMs = of.slice(1).reduce((sum, { durationMs }) => sum + (durationMs ?? 0), 0);
        const together = of.every((call) => call === first || call.startMs < endOf(first));
        const sentence = `${callName(first)} was called ${counted(of.length)} times with the same address${together ? ' at once' : ''}; all but the first took ${shareOf(costMs, wholeMs)}`;
        const common = { label: 'repeated call', panel: 'http_client', anchor: `c${(members[1] ?? 0) + 1}` };
        return [placed({ ...common, severity: 'warn', sentence, costMs }, second.caller)];
      }),
    );
  },
};
