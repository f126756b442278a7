import type { RuleBeside } from '../../app/profiler/read/finding-rule.ts';
import type { SpanDraft } from '../../app/profiler/read/span.ts';
import { createTimeLedger, type TimeLedgerOptions } from '../../app/profiler/read/time-ledger.ts';

/** What a rule is given if there is nothing to compare a request with. */
export const NOTHING_BESIDE: RuleBeside = {
  shared: {},
  usualMs: null,
  earlier: [],
  siblings: [],
  overlapping: [],
  reported: new Map(),
  time: createTimeLedger([], { totalMs: 0, loopIdleMs: null, isAlone: true }),
};

/** The same of a request that these spans owned. */
export function besideOf(
  spans: readonly Omit<SpanDraft, 'label'>[],
  options: Partial<TimeLedgerOptions> & { totalMs: number },
): RuleBeside {
  const drafts = spans.map((span): SpanDraft => ({ label: span.kind, ...span }));
  return {
    ...NOTHING_BESIDE,
    time: createTimeLedger(drafts, { loopIdleMs: null, isAlone: true, ...options }),
  };
}
