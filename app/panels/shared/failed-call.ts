/** Whether a call failed; its page and the rules agree. */
export function hasFailed({ status, error }: { status: number | null; error: string | null }): boolean {
  return error !== null || (status !== null && status >= 500);
}
