import type { RuleBeside } from '../../app/profiler/finding-rule.ts';

/** What a rule is given if there is nothing to compare a request with. */
export const NOTHING_BESIDE: RuleBeside = { shared: {}, usualMs: null, earlier: [] };
