/** Whether a call failed, for its page and for the rules. */
export function hasFailed({ status, error }: { status: number | null; error: string | null }): boolean {
  return error !== null || (status !== null && status >= 500);
}
