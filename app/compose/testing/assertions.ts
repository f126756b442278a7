/** The checks in three forms: functions that throw, for every test runner; methods of chai; matchers of Jest and Vitest. */
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

declare global {
  // oxlint-disable-next-line typescript/no-namespace -- chai's own types are a namespace
  namespace Chai {
    interface Assertion {
      /** The request ran fewer queries than `limit`. */
      queriesBelow(limit: number): Assertion;
      /** The profiler found nothing wrong with the request. */
      noFindings(allowed?: FindingsAllowed): Assertion;
      /** The request read no rows or keys one by one in a loop. */
      noNPlusOne(): Assertion;
      /** The request made such an outgoing call; a text is part of the URL. */
      called(method: string, url: RegExp | string): Assertion;
      /** The process took less CPU time than `limit` while the request ran: milliseconds, or a text such as `5 ms`. */
      cpuBelow(limit: number | string): Assertion;
    }
  }
}

type Method = (...values: never[]) => unknown;

interface ChaiParts {
  Assertion: { prototype: object };
  AssertionError: new (message: string, props: object, start: Method) => Error;
}

interface ChaiUtils {
  flag(assertion: object, name: string): unknown;
}

/** `chai.use(hindsightChai)`: methods of `expect(response)` and `should`. Also for Vitest, whose `expect` is chai's. */
export function hindsightChai({ Assertion, AssertionError: Failure }: ChaiParts, { flag }: ChaiUtils): void {
  for (const [name, check] of Object.entries(checks)) {
    // sinon-chai also has a `called`: its own is for functions.
    const other = Object.getOwnPropertyDescriptor(Assertion.prototype, name);

    function get(this: object): unknown {
      const subject = flag(this, 'object');
      if (other !== undefined && typeof subject === 'function')
        return other.get === undefined ? other.value : other.get.call(this);
      // Not by chai's `assert`, which replaces `#{this}` in the message, because the message quotes what was recorded.
      const assertion = (...values: never[]): object => {
        const { passed, failure, contrary } = (check as (...all: unknown[]) => Verdict)(subject, ...values);
        const isNegated = flag(this, 'negate') === true;
        if (passed === isNegated) throw new Failure(isNegated ? contrary() : failure(), {}, assertion);
        return this;
      };
      return assertion;
    }

    Object.defineProperty(Assertion.prototype, name, { configurable: true, get });
  }
}

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

/** `expect.extend(hindsightMatchers)` */
export const hindsightMatchers = {
  toHaveQueriesBelow: (response: unknown, limit: number) => resultOf(checks.queriesBelow(response, limit)),
  toHaveNoFindings: (response: unknown, allowed?: FindingsAllowed) =>
    resultOf(checks.noFindings(response, allowed)),
  toHaveNoNPlusOne: (response: unknown) => resultOf(checks.noNPlusOne(response)),
  toHaveMadeCall: (response: unknown, method: string, url: RegExp | string) =>
    resultOf(checks.called(response, method, url)),
  toHaveCpuBelow: (response: unknown, limit: number | string) => resultOf(checks.cpuBelow(response, limit)),
};
