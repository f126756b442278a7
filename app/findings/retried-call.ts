/** A failed call that was retried: what the attempts cost, and whether the last one succeeded. */
import type { FindingRule } from '../profiler/finding-rule.ts';
import { hasFailed } from '../panels/shared/failed-call.ts';
import { callName, outcomeOf, triesOf } from './shared/calls.ts';
import { endOf, type Kept } from './shared/kept.ts';
import { count, costliestFirst, placed, shareOf } from './shared/wording.ts';

const LISTED_ATTEMPTS = 6;

export const retriedCall: FindingRule<Pick<Kept, 'http_client'>> = {
  name: 'retried-call',
  needs: ['http_client'],
  labels: ['retried'],
  why: 'Calls with the same method and address followed each other, each started after the previous one had failed or returned 408, 429 or 5xx.',
  fix: 'Find out why the first attempt fails. Limit retries, pause longer between them, and decide what to respond when they run out.',
  find({ http_client: { calls } }, { durationMs: wholeMs, status }) {
    if (calls.length < 2) return [];
    return costliestFirst(
      triesOf(calls).flatMap((attempts) => {
        const of = attempts.map((index) => calls[index]).filter((call) => call !== undefined);
        const [first, last] = [of[0], of.at(-1)];
        if (first === undefined || last === undefined) return [];
        const costMs = last.startMs - first.startMs;
        const outcomes = of.slice(0, LISTED_ATTEMPTS).map(outcomeOf).join(', ');
        const more = of.length > LISTED_ATTEMPTS ? ', …' : '';
        const spentMs = hasFailed(last) ? endOf(last) - first.startMs : costMs;
        const time = shareOf(Number.isFinite(spentMs) ? spentMs : costMs, wholeMs);
        const ignored = status !== null && status < 400 ? `, but this request still answered ${status}` : '';
        const listed = `${count(of.length)} attempts (${outcomes}${more})`;
        const sentence = hasFailed(last)
          ? `${callName(first)} failed after ${listed} in ${time}${ignored}`
          : `${callName(first)} needed ${listed}: the failed ones took ${time}`;
        const common = { label: 'retried', panel: 'http_client', anchor: `c${(attempts[0] ?? 0) + 1}` };
        const broke = hasFailed(last)
          ? { broke: status !== null && status < 400 ? ('unseen' as const) : ('response' as const) }
          : {};
        return [placed({ ...common, ...broke, severity: 'warn', sentence, costMs }, first.caller)];
      }),
    );
  },
};
