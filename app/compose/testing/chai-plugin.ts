/** The checks as methods of chai's `expect(response)` and `should`: `chai.use(hindsightChai)`. Also for Vitest, whose `expect` is chai's. */
import { checks, type FindingsAllowed, type Verdict } from './checks.ts';

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

export function hindsightChai({ Assertion, AssertionError }: ChaiParts, { flag }: ChaiUtils): void {
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
        if (passed === isNegated) throw new AssertionError(isNegated ? contrary() : failure(), {}, assertion);
        return this;
      };
      return assertion;
    }

    Object.defineProperty(Assertion.prototype, name, { configurable: true, get });
  }
}
