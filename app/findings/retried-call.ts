/** A call that failed and was made again: what the tries cost, and whether one of them helped. */
import type { FindingRule } from '../profiler/finding.ts';
import { callName, hasFailed, outcomeOf, triesOf } from './shared/calls.ts';
import { endOf, type Kept } from './shared/kept.ts';
import { counted, dearestFirst, placed, shareOf } from './shared/wording.ts';

const NAMED_TRIES = 6;

export const retriedCall: FindingRule<Pick<Kept, 'http_client'>> = {
  name: 'retried-call',
  needs: ['http_client'],
  labels: ['retried'],
  known:
    'Calls of the same method to the same address followed each other, each begun after the one before had failed or was answered 408, 429 or 5xx.',
  mends:
    'Find out why the first try fails; give tries a limit and growing pauses, and answer from what is known where they are used up.',
  find({ http_client: { calls } }, { durationMs: wholeMs, status }) {
    if (calls.length < 2) return [];
    return dearestFirst(
      triesOf(calls).flatMap((tries) => {
        const of = tries.map((index) => calls[index]).filter((call) => call !== undefined);
        const [first, last] = [of[0], of.at(-1)];
        if (first === undefined || last === undefined) return [];
        const costMs = last.startMs - first.startMs;
        const outcomes = of.slice(0, NAMED_TRIES).map(outcomeOf).join(', ');
        const more = of.length > NAMED_TRIES ? ', …' : '';
        const spent = hasFailed(last) ? endOf(last) - first.startMs : costMs;
        const unnoticed = status !== null && status < 400 ? `, and the answer was ${status}` : '';
        const how = hasFailed(last) ? `none helped${unnoticed}` : 'the last one helped';
        const sentence = `${callName(first)} was tried ${counted(of.length)} times (${outcomes}${more}), ${how}: ${shareOf(Number.isFinite(spent) ? spent : costMs, wholeMs)}`;
        const common = { label: 'retried', panel: 'http_client', anchor: `c${(tries[0] ?? 0) + 1}` };
        return [placed({ ...common, severity: 'warn', sentence, costMs }, first.caller)];
      }),
    );
  },
};
