/** Helpers of rules that read the HTTP client panel. */
import { leavesOf, parseBeginning } from '../../panels/shared/json-leaves.ts';
import { namedHeader } from '../../profiler/record/raw-headers.ts';
import { pathOf } from '../../profiler/request-target.ts';
import { type Call, endOf } from './kept.ts';

/** `POST rates.example/v2/quote`, without the query, which may hold secrets. */
export function callName({ method, url }: Pick<Call, 'method' | 'url'>): string {
  const address = pathOf(url.replace(/^[a-z]+:\/\/(?:[^/@]*@)?/i, '')).slice(0, 120);
  return `${method.slice(0, 16)} ${address}`;
}

export function outcomeOf({ status, error }: Pick<Call, 'status' | 'error'>): string {
  return status === null ? (error === null ? 'no response' : 'failed') : String(status);
}

export function typeOf({ responseHeaders }: Pick<Call, 'responseHeaders'>): string {
  return namedHeader(responseHeaders, 'content-type')?.slice(0, 80) ?? '';
}

/** Outcomes after which a service may respond otherwise. */
export function isRetryable({ status, error }: Pick<Call, 'status' | 'error'>): boolean {
  return (
    error !== null || status === 408 || status === 425 || status === 429 || (status !== null && status >= 500)
  );
}

/** Other refusals only count as tries of one loop if they come from the same line. */
function isRetryOf(before: Call, { caller }: Call): boolean {
  return (
    isRetryable(before) || ((before.status ?? 0) >= 400 && before.caller !== null && before.caller === caller)
  );
}

/** Indexes of calls to the same address, each made after the previous one had failed. Calls without a retry are left out. */
export function triesOf(calls: readonly Call[]): number[][] {
  const open = new Map<string, number[]>();
  const all: number[][] = [];
  calls.forEach((call, index) => {
    const key = `${call.method} ${call.url}`;
    const tries = open.get(key);
    const before = calls[tries?.at(-1) ?? -1];
    if (
      tries !== undefined &&
      before !== undefined &&
      isRetryOf(before, call) &&
      call.startMs >= endOf(before)
    ) {
      tries.push(index);
      return;
    }
    const attempts = [index];
    open.set(key, attempts);
    all.push(attempts);
  });
  return all.filter(({ length }) => length > 1);
}

export function isReading({ method }: Pick<Call, 'method'>): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** Calls that write and were redirected by 301 or 302, each with the GET that followed. */
export function lostMethods(calls: readonly Call[]): { call: Call; next: Call }[] {
  return calls.flatMap((call) => {
    const location = namedHeader(call.responseHeaders, 'location') ?? '';
    const isRedirect = !isReading(call) && (call.status === 301 || call.status === 302);
    if (!isRedirect || !URL.canParse(location, call.url)) return [];
    const target = new URL(location, call.url).href;
    const next = calls.find(
      ({ method, url, startMs }) => method === 'GET' && url === target && startMs >= call.startMs,
    );
    return next === undefined ? [] : [{ call, next }];
  });
}

const FAILURE =
  /error|fail|unavailable|degraded|partial|stale|warning|retry|denied|refused|invalid|limit|fallback|queued|deferred|postponed/i;

/** Whether a response says that a call failed: a graceful one does. A field that is empty, such as `error: null`, says nothing. */
export function tellsOf(status: number | null, text: string): boolean {
  const whole = parseBeginning(text);
  const shown = text.replace(/<[^<>]*>/g, ' ');
  if (whole === undefined) return FAILURE.test(shown) || shown.includes(String(status));
  return leavesOf(whole.value).some(
    ({ path, value }) =>
      Boolean(value) && (value === status || FAILURE.test(path) || FAILURE.test(String(value))),
  );
}
