/**
 * The ordered list of the rules by which findings are made. One line per rule; a rule is one name in four rooms
 * (`app/findings`, `test/findings`, `docs/findings`, and here).
 *
 * In: what panels keep, before it is masked. Out: sentences with a number and a place, masked with the rest of the profile.
 * A rule reads, it never asks: what was not recorded is not found. What they share lies in `shared/`.
 */
import type { FindingRule } from '../profiler/finding.ts';
import { nPlusOne } from './n-plus-one.ts';

export function createFindingRules(): FindingRule[] {
  return [nPlusOne];
}
