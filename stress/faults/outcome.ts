/** What a fault did: figures, and what did not hold. */
import type { Load } from '../service/load.ts';

export interface Outcome {
  /** Tokens given under load. */
  tokens: number;
  /** Requests that got a 5xx, no token or no response. */
  failed: number;
  /** Profiles of given tokens that are not stored. */
  missing: number;
  figures: readonly string[];
  /** Empty: the fault was borne. */
  broken: readonly string[];
  /** What took longer than it may: on a busy machine it says nothing. */
  late: readonly string[];
}

export interface Report {
  figure(text: string): void;
  /** `what`: what did not hold, where `holds` is false. */
  expect(holds: boolean, what: string): void;
  /** `what` took `ms`, and may take `limit`. */
  within(ms: number, limit: number, what: string): void;
  /** Adds up what a load got; by default none of its requests may have failed. */
  load(load: Load, mayFail?: boolean): void;
  /** Adds tokens without a profile; none may be missing unless `mayMiss`. */
  missing(tokens: readonly string[], mayMiss?: boolean): void;
  outcome(): Outcome;
}

export function createReport(): Report {
  const figures: string[] = [];
  const broken: string[] = [];
  const late: string[] = [];
  let [tokens, failed, missed] = [0, 0, 0];

  function expect(holds: boolean, what: string): void {
    if (!holds) broken.push(what);
  }

  return {
    figure: (text) => void figures.push(text),
    expect,
    within(ms, limit, what) {
      if (ms > limit) late.push(`${what} took ${ms.toFixed(0)} ms instead of ${limit}`);
    },
    load(load, mayFail = false) {
      tokens += load.given.length;
      failed += load.failures.length;
      if (!mayFail)
        expect(load.failures.length === 0, `${load.failures.length} failed: ${load.failures[0] ?? ''}`);
    },
    missing(of, mayMiss = false) {
      missed += of.length;
      if (!mayMiss) expect(of.length === 0, `${of.length} profiles missing: ${of.slice(0, 5).join(', ')}`);
    },
    outcome: () => ({ tokens, failed, missing: missed, figures, broken, late }),
  };
}
