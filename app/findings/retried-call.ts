/** A failed call that was retried: what the attempts cost, and whether the last one succeeded. */
import type { FindingRule } from '../profiler/finding-rule.ts';
import { hasFailed } from '../panels/shared/failed-call.ts';
import { callName, isReading, isRetryable, outcomeOf, triesOf } from './shared/calls.ts';
import { type Call, endOf, type Kept } from './shared/kept.ts';
import { brokeBy, count, duration, shareOf } from './shared/wording.ts';
import { pick } from '../panels/shared/rows.ts';

const LISTED_ATTEMPTS = 6;
/** Pauses that add up to less are the time that the code itself takes. */
const PAUSES_MS = 20;

/** `, with pauses of 40.0 ms, 80.1 ms`. */
function pausesText(attempts: readonly Call[]): string {
  const pauses = attempts.slice(1).map((call, at) => call.startMs - endOf(attempts[at] ?? call));
  if (pauses.reduce((sum, ms) => sum + ms, 0) < PAUSES_MS) return '';
  const listed = pauses.slice(0, LISTED_ATTEMPTS).map(duration).join(', ');
  return `, with pauses of ${listed}${pauses.length > LISTED_ATTEMPTS ? ', …' : ''}`;
}

/** What repeating could not change, or may have done twice. */
function remarkOn(attempts: readonly Call[]): string {
  const [first] = attempts;
  if (first === undefined) return '';
  const { status } = first;
  if (status !== null && !isRetryable(first) && attempts.every((call) => call.status === status))
    return `; repeating does not change a ${status}`;
  const isUnknown = attempts.slice(0, -1).some((call) => call.error !== null);
  const mayBeTwice = isUnknown && !isReading(first) && !/^(?:PUT|DELETE)$/.test(first.method);
  return mayBeTwice
    ? '; an attempt without a response may have taken effect, so this may have happened twice'
    : '';
}

export const retriedCall: FindingRule<Pick<Kept, 'http_client'>> = {
  name: 'retried-call',
  needs: ['http_client'],
  labels: ['retried'],
  why: 'Calls with the same method and address followed each other, each started after the previous one had failed or returned 408, 429 or 5xx, or another 4xx to the same line.',
  fix: 'Find out why the first attempt fails. Limit retries, pause longer between them, and decide what to respond when they run out.',
  find({ http_client: { calls } }, { durationMs: wholeMs, status }) {
    if (calls.length < 2) return [];
    return triesOf(calls).flatMap((attempts) => {
      const of = pick(calls, attempts);
      const [first, last] = [of[0], of.at(-1)];
      if (first === undefined || last === undefined) return [];
      const costMs = last.startMs - first.startMs;
      const outcomes = of.slice(0, LISTED_ATTEMPTS).map(outcomeOf).join(', ');
      const more = of.length > LISTED_ATTEMPTS ? ', …' : '';
      const isFailed = hasFailed(last) || (last.status ?? 0) >= 400;
      const spentMs = isFailed ? endOf(last) - first.startMs : costMs;
      const time = shareOf(Number.isFinite(spentMs) ? spentMs : costMs, wholeMs);
      const ignored = status !== null && status < 400 ? `, but this request still answered ${status}` : '';
      const listed = `${count(of.length)} attempts (${outcomes}${more})`;
      const what = isFailed
        ? `${callName(first)} failed after ${listed} in ${time}${pausesText(of)}${ignored}`
        : `${callName(first)} needed ${listed}: the failed ones took ${time}${pausesText(of)}`;
      const sentence = `${what}${remarkOn(of)}`;
      const broke = isFailed ? { broke: brokeBy(status) } : {};
      const anchor = `c${(attempts[0] ?? 0) + 1}`;
      return [{ ...broke, severity: 'warn', sentence, anchor, costMs, place: first.caller }];
    });
  },
};
