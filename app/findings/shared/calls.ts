/** What several rules ask of the HTTP client panel's data. */
import { type Call, endOf } from './kept.ts';

/** `POST rates.example/v2/quote`: no query, which may hold anything. */
export function callName({ method, url }: Pick<Call, 'method' | 'url'>): string {
  const address = url
    .replace(/^[a-z]+:\/\/(?:[^/@]*@)?/i, '')
    .replace(/[?#].*$/s, '')
    .slice(0, 120);
  return `${method.slice(0, 16)} ${address}`;
}

export function hasFailed({ status, error }: Pick<Call, 'status' | 'error'>): boolean {
  return error !== null || (status !== null && status >= 500);
}

/** `503`, or what went wrong before there was a status. */
export function outcomeOf({ status, error }: Pick<Call, 'status' | 'error'>): string {
  return status === null ? (error === null ? 'no answer' : 'failed') : String(status);
}

/** Answers that are worth another try. */
function asksAgain({ status, error }: Call): boolean {
  return error !== null || status === 408 || status === 429 || (status !== null && status >= 500);
}

/**
 * Calls to the same address, each after the one before had failed: indexes of those that were tried again, in order. Calls
 * that were tried once are not in it.
 */
export function triesOf(calls: readonly Call[]): number[][] {
  const open = new Map<string, number[]>();
  const all: number[][] = [];
  calls.forEach((call, index) => {
    const key = `${call.method} ${call.url}`;
    const tries = open.get(key);
    const before = calls[tries?.at(-1) ?? -1];
    if (tries !== undefined && before !== undefined && asksAgain(before) && call.startMs >= endOf(before)) {
      tries.push(index);
      return;
    }
    const begun = [index];
    open.set(key, begun);
    all.push(begun);
  });
  return all.filter(({ length }) => length > 1);
}

export function isReading({ method }: Pick<Call, 'method'>): boolean {
  return method === 'GET' || method === 'HEAD';
}
