/** Attempts that followed a failed call. */
import { hasFailed } from '../panels/shared/failed-call.ts';
import { leavesIn, objectsIn, parseBeginning } from '../panels/shared/json-leaves.ts';
import { primaryKeyOf } from '../panels/shared/primary-key.ts';
import { pick } from '../panels/shared/rows.ts';
import { isRecord, type Json } from '../profiler/json.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import { namedHeader } from '../profiler/record/raw-headers.ts';
import { callName, isReading, isRetryable, outcomeOf, triesOf } from './shared/calls.ts';
import { type Call, endOf, type Needs, type Rule } from './shared/kept.ts';
import { textOf } from './shared/queries.ts';
import { brokeBy, count, duration, excerpt, isPartial, listOf, shareOf } from './shared/wording.ts';
import { pausesOf } from './shared/time.ts';

const FINE_MS = 100;
const FINE_ATTEMPTS = 3;
const LISTED_ATTEMPTS = 6;
/** Pauses that add up to less are the time that the code itself takes. */
const PAUSES_MS = 20;

interface Pauses {
  ms: number;
  /** `1.02 s, 2.04 s`; empty if they are too short to be meant. */
  listed: string;
  times: number;
}

function pausesIn(attempts: readonly Call[]): Pauses {
  const pauses = pausesOf(attempts).map(({ durationMs }) => durationMs);
  const ms = pauses.reduce((sum, one) => sum + one, 0);
  if (ms < PAUSES_MS) return { ms: 0, listed: '', times: 0 };
  const listed = pauses.slice(0, LISTED_ATTEMPTS).map(duration).join(', ');
  return { ms, listed: `${listed}${pauses.length > LISTED_ATTEMPTS ? ', …' : ''}`, times: pauses.length };
}

/** The one pause of a single retry is said once. */
function pausesText({ times, listed }: Pauses, took: string, isAsked: boolean): string {
  if (times === 1) return `the pause ${took}${isAsked ? ', after a Retry-After' : ''}`;
  return `${count(times)} pauses ${took}: ${listed}${isAsked ? ', each after a Retry-After' : ''}`;
}

const IDEMPOTENCY_KEY = /idempoten|request-?id$/i;
/** Of a thing that this call is about, not of who calls or of the whole trace. */
const OWN_ID =
  /^(?!.*(?:tenant|client|user|account|customer|merchant|partner|org|project|subscription|app-?id|application|api-?key|device|session|trace|correlation)).*(?:id|key)$/i;
const UNIQUE = /^(?:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9A-HJKMNP-TV-Z]{26}|[0-9a-f]{20,})$/i;

/** The header by which the service knows an attempt again, with its value in each; null if no attempt has one. */
function retryKeyOf(attempts: readonly Call[]): { name: string; values: Set<string> } | null {
  const keys = (attempts[0]?.requestHeaders ?? [])
    .filter(({ name, value }) => IDEMPOTENCY_KEY.test(name) || (OWN_ID.test(name) && UNIQUE.test(value)))
    .map(({ name }) => ({
      name,
      values: new Set(
        attempts.map(({ requestHeaders }) => namedHeader(requestHeaders, name.toLowerCase()) ?? 'none'),
      ),
    }));
  const isEqual = ({ values }: { values: Set<string> }): boolean => values.size === 1;
  return keys.find(isEqual) ?? keys.find(({ name }) => IDEMPOTENCY_KEY.test(name)) ?? null;
}

/** The request did not reach the service. */
const NOT_REACHED = /\b(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)\b/;
/** What is between the service and this process gave up, or the service did while it worked. */
const GAVE_UP = new Set([408, 502, 503, 504]);
const KEY_IN_BODY = /idempoten|dedup|request_?id/i;
/** To repeat it does no harm (RFC 9110, section 9.2.2). */
const IDEMPOTENT = /^(?:GET|HEAD|PUT|DELETE|OPTIONS)$/;
/** Such a POST changes nothing. */
const READS_BY_POST = /\b(?:graphql|search|query|queries|lookup|preview|validate|token|oauth2?|rpc)\b/i;

/** It refused, and says when to come back. */
function asksToWait({ responseHeaders }: Call): boolean {
  return namedHeader(responseHeaders ?? [], 'retry-after') !== null;
}

/** The attempt that the service may have carried out, although it failed here; undefined: there is none, or it does no harm. */
function maybeDone(attempts: readonly Call[]): Call | undefined {
  const [first] = attempts;
  if (first === undefined || IDEMPOTENT.test(first.method)) return undefined;
  if (READS_BY_POST.test(callName(first))) return undefined;
  const bodies = attempts.flatMap(({ requestBody }) => requestBody?.text ?? []);
  if (new Set(bodies).size > 1 || bodies.some((body) => KEY_IN_BODY.test(body))) return undefined;
  return attempts.slice(0, -1).find((call) => {
    const { error, status } = call;
    return error === null ? GAVE_UP.has(status ?? 0) && !asksToWait(call) : !NOT_REACHED.test(error);
  });
}

/** Two things with all that was sent: the one that the last attempt returned, and one made since the first began, in what a later call read. */
function madeTwice(
  attempts: readonly Call[],
  calls: readonly Call[],
  startedAt: number,
): { by: Call; ids: string[] } | null {
  const [first, last] = [attempts[0], attempts.at(-1)];
  const sent = leavesIn(first?.requestBody?.text ?? '');
  const made = parseBeginning(last?.responseBody?.text ?? '')?.value;
  const id = isRecord(made) ? textOf(primaryKeyOf(made)) : null;
  if (first === undefined || last === undefined || sent.length === 0 || id === null) return null;
  const isSince = (value: Json): boolean => {
    const time = typeof value === 'string' && MOMENT.test(value) ? Date.parse(value) - startedAt : NaN;
    // When the request began is known to the millisecond.
    return time >= first.startMs - 1 && time <= endOf(last);
  };
  for (const by of calls) {
    if (by.startMs < endOf(last) || !isReading(by)) continue;
    const read = parseBeginning(by.responseBody?.text ?? '')?.value ?? null;
    const alike = objectsIn(read).filter((one) => sent.every(({ name, value }) => one[name] === value));
    const ids = alike.flatMap((one): string[] => {
      const own = textOf(primaryKeyOf(one));
      return own !== null && (own === id || Object.values(one).some(isSince)) ? [own] : [];
    });
    if (ids.includes(id) && ids.length > 1) return { by, ids };
  }
  return null;
}

/** What repeating could not change. */
function remarkOn(attempts: readonly Call[]): string {
  const [first] = attempts;
  if (first === undefined) return '';
  const { status } = first;
  if (status !== null && !isRetryable(first) && attempts.every((call) => call.status === status))
    return `; repeating does not change a ${status}`;
  return '';
}

const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)$/;

const REPEAT_FIX =
  'Find out why the first attempt fails. Limit the attempts and the time that they may take together, and pause between them as long as `Retry-After` says.';

export const retriedCall: Rule<Needs<'http_client'>> = {
  name: 'retried-call',
  needs: ['http_client'],
  labels: ['retried', 'sent twice'],
  why: 'A call failed, or got 408, 429, 5xx, or another 4xx at the same line, and was sent again. Ignored: up to two failures that were over in 100 ms, unless a POST or PATCH may have been carried out.',
  fix: 'Make one `Idempotency-Key` outside of the retry, and send it with each attempt of a POST; or ask whether it was done before you repeat it. Find out why the first attempt fails, limit retries, and pause longer between them.',
  find({ http_client: { calls } }, { durationMs: wholeMs, status, outcome, startedAt }) {
    if (calls.length < 2) return [];
    return triesOf(calls).flatMap((attempts): FindingDraft[] => {
      const of = pick(calls, attempts);
      const [first, last] = [of[0], of.at(-1)];
      if (first === undefined || last === undefined) return [];
      const costMs = last.startMs - first.startMs;
      const outcomes = of.slice(0, LISTED_ATTEMPTS).map(outcomeOf).join(', ');
      const more = of.length > LISTED_ATTEMPTS ? ', …' : '';
      const isFailed = hasFailed(last) || (last.status ?? 0) >= 400;
      const spentMs = isFailed ? endOf(last) - first.startMs : costMs;
      const time = shareOf(Number.isFinite(spentMs) ? spentMs : costMs, wholeMs);
      const ignored =
        status !== null && status < 400 && !isPartial(status) && outcome !== 'aborted'
          ? `, but this request still answered ${status}`
          : '';
      const listed = `${count(of.length)} attempts (${outcomes}${more})`;
      const pauses = pausesIn(of);
      const isAsked = of.slice(0, -1).every(asksToWait);
      const failures = `the failed ${of.length === 2 ? 'one' : 'ones'} took`;
      const [within, apart] =
        pauses.listed === ''
          ? ['', `${failures} ${time}`]
          : [
              `, with pauses of ${pauses.listed}`,
              `${failures} ${duration(costMs - pauses.ms)}, ${pausesText(pauses, shareOf(pauses.ms, wholeMs), isAsked)}`,
            ];
      const what = isFailed
        ? `${callName(first)} failed after ${listed} in ${time}${within}${ignored}`
        : `${callName(first)} needed ${listed}: ${apart}`;
      const anchor = `c${(attempts[0] ?? 0) + 1}`;
      const key = retryKeyOf(of);
      const isKeyed = key?.values.size === 1;
      const done = isKeyed ? undefined : maybeDone(of);
      if (done !== undefined) {
        const got = `that got ${done.error === null ? (done.status ?? '') : 'no response'}`;
        const how =
          key === null
            ? 'without an idempotency key'
            : `with another ${excerpt(key.name, 40)} (${[...key.values]
                .slice(0, LISTED_ATTEMPTS)
                .map((value) => excerpt(value, 40))
                .join(', then ')})`;
        const twice = madeTwice(of, calls, startedAt);
        const may =
          twice === null
            ? `may have been carried out twice: the service may have acted on an attempt ${got}, and it was sent again ${how}`
            : `was carried out ${count(twice.ids.length, 'time')}: ${callName(twice.by)} then had ${listOf(twice.ids)}, as it was sent again ${how} after an attempt ${got}`;
        const sentence = isFailed ? `${what}; it ${may}` : `${callName(first)} ${may} (${outcomes}${more})`;
        const broke = isFailed ? brokeBy(status) : 'unseen';
        return [
          { label: 'sent twice', broke, severity: 'bad', sentence, anchor, costMs, place: first.caller },
        ];
      }
      const remark = remarkOn(of);
      if (!isFailed && remark === '' && costMs < FINE_MS && of.length <= FINE_ATTEMPTS) return [];
      const sentence = `${what}${remark}`;
      const broke = isFailed ? { broke: brokeBy(status) } : {};
      const fix = isKeyed || IDEMPOTENT.test(first.method) ? { fix: REPEAT_FIX } : {};
      // It succeeded when the service had said to come back, or it can be repeated.
      const severity = !isFailed && (isAsked || (isKeyed && !isReading(first))) ? 'info' : 'warn';
      return [{ ...broke, ...fix, severity, sentence, anchor, costMs, place: first.caller }];
    });
  },
};
