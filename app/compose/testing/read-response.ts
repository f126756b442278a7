/** A response -> the profile of its request, by the token in its headers, in the process that sent the response. */
import { processProfilers, type TestedProfile } from '../process-profilers.ts';

/** A response of supertest, fetch, axios, got or `inject`: anything with headers. */
export interface TestedResponse {
  headers: object;
}

const HEADER = 'x-debug-token';

const profilers = processProfilers();
profilers.isTested = true;
for (const testable of profilers.testables) testable.begin();

function tokenOf(response: unknown): string | null {
  const headers = (response as { headers?: unknown } | null | undefined)?.headers;
  if (typeof headers !== 'object' || headers === null) return null;
  const value: unknown =
    'get' in headers && typeof headers.get === 'function'
      ? (headers.get as (name: string) => unknown).call(headers, HEADER)
      : (headers as Record<string, unknown>)[HEADER];
  return typeof value === 'string' ? value : null;
}

/** Throws a TypeError if there is no profile to check: the test is wrong then, not the application. */
export function readResponse(response: unknown): TestedProfile {
  const token = tokenOf(response);
  if (token === null)
    throw new TypeError(
      `The argument has no header ${HEADER}. Pass a response of an application with hindsight(app); with NODE_ENV=production, also set PROFILER=on.`,
    );
  for (const testable of profilers.testables) {
    const found = testable.read(token);
    if (found !== null) return found;
  }
  throw new TypeError(
    `No profile with token ${token} in this process. The application has to run in the process of the test, with a profiler that is open and ` +
      'samples every request; express-hindsight/testing has to be imported before the request. The newest 100 requests can be checked.',
  );
}
