/** What is read of one part of the service's own ledger, `/_profiler/health.json`. */
export interface Counts {
  tokens: number;
  stored: number;
  waiting: number;
  running: number;
  dropped: Record<string, number>;
  leftOut: Record<string, number>;
}

export function sumOf(of: Record<string, number>): number {
  return Object.values(of).reduce((sum, count) => sum + count, 0);
}

/** Tokens that are in no other count; 0 if all is well. */
export function uncounted({ tokens, stored, waiting, running, dropped, leftOut }: Counts): number {
  return tokens - stored - waiting - running - sumOf(dropped) - sumOf(leftOut);
}
