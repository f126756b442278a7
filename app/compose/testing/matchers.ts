/** The checks as matchers of Jest and Vitest: `expect.extend(hindsightMatchers)`. */
import { checks, type FindingsAllowed, type Verdict } from './checks.ts';

/** `R`: what a matcher returns, in the types of the test runner. */
export interface HindsightMatchers<R = void> {
  /** The request ran fewer queries than `limit`. */
  toHaveQueriesBelow(limit: number): R;
  /** The profiler found nothing wrong with the request. */
  toHaveNoFindings(allowed?: FindingsAllowed): R;
  /** The request read no rows or keys one by one in a loop. */
  toHaveNoNPlusOne(): R;
  /** The request made such an outgoing call; a text is part of the URL. */
  toHaveMadeCall(method: string, url: RegExp | string): R;
  /** The process took less CPU time than `limit` while the request ran: milliseconds, or a text such as `5 ms`. */
  toHaveCpuBelow(limit: number | string): R;
}

declare global {
  // oxlint-disable-next-line typescript/no-namespace -- @types/jest is a namespace
  namespace jest {
    // oxlint-disable-next-line typescript/no-empty-object-type -- as @types/jest declares it
    interface Matchers<R, T = {}> extends HindsightMatchers<R> {}
  }
}

interface MatcherResult {
  pass: boolean;
  message: () => string;
}

function resultOf({ passed, failure, contrary }: Verdict): MatcherResult {
  return { pass: passed, message: passed ? contrary : failure };
}

export const hindsightMatchers = {
  toHaveQueriesBelow: (response: unknown, limit: number) => resultOf(checks.queriesBelow(response, limit)),
  toHaveNoFindings: (response: unknown, allowed?: FindingsAllowed) =>
    resultOf(checks.noFindings(response, allowed)),
  toHaveNoNPlusOne: (response: unknown) => resultOf(checks.noNPlusOne(response)),
  toHaveMadeCall: (response: unknown, method: string, url: RegExp | string) =>
    resultOf(checks.called(response, method, url)),
  toHaveCpuBelow: (response: unknown, limit: number | string) => resultOf(checks.cpuBelow(response, limit)),
};
