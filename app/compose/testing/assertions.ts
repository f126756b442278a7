/** The checks as functions that throw, for `node:assert` and every test runner. */
import { AssertionError } from 'node:assert';
import { checks, type FindingsAllowed, type Verdict } from './checks.ts';
import type { TestedResponse } from './read-response.ts';

function demand({ passed, failure }: Verdict, by: (...values: never[]) => void): void {
  if (!passed) throw new AssertionError({ message: failure(), stackStartFn: by });
}

/** The request ran fewer queries than `limit`. */
export function queriesBelow(response: TestedResponse, limit: number): void {
  demand(checks.queriesBelow(response, limit), queriesBelow);
}

/** The profiler found nothing wrong with the request. */
export function noFindings(response: TestedResponse, allowed?: FindingsAllowed): void {
  demand(checks.noFindings(response, allowed), noFindings);
}

/** The request read no rows or keys one by one in a loop. */
export function noNPlusOne(response: TestedResponse): void {
  demand(checks.noNPlusOne(response), noNPlusOne);
}

/** The request made such an outgoing call; a text is part of the URL. */
export function called(response: TestedResponse, method: string, url: RegExp | string): void {
  demand(checks.called(response, method, url), called);
}

/** The request made no such outgoing call. */
export function notCalled(response: TestedResponse, method: string, url: RegExp | string): void {
  const { passed, contrary, failure } = checks.called(response, method, url);
  demand({ passed: !passed, failure: contrary, contrary: failure }, notCalled);
}

/** The process took less CPU time than `limit` while the request ran: milliseconds, or a text such as `5 ms`. */
export function cpuBelow(response: TestedResponse, limit: number | string): void {
  demand(checks.cpuBelow(response, limit), cpuBelow);
}
