/** The application gave it up, with `AbortController` or a token of axios. */
const GIVEN_UP = /^(?:AbortError|CanceledError)\b(?!.*, by a timer$)/s;

/** Asked too often: whatever was wanted was not even looked at. */
const TOO_MANY = 429;

export function hasFailed({ status, error }: { status: number | null; error: string | null }): boolean {
  if (status !== null && (status >= 500 || status === TOO_MANY)) return true;
  return error !== null && !GIVEN_UP.test(error);
}
