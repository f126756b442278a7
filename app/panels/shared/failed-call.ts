/** The application did not want the body of a response that it had. */
const ABORTED = /^AbortError\b/;

/** Asked too often: whatever was wanted was not even looked at. */
const TOO_MANY = 429;

export function hasFailed({ status, error }: { status: number | null; error: string | null }): boolean {
  if (status !== null && (status >= 500 || status === TOO_MANY)) return true;
  return error !== null && !(status !== null && ABORTED.test(error));
}
