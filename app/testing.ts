/** The entry point for tests: budgets of a request, and the output of your own panels. */
export { showPanel, type ShownPanel } from './compose/testing/show-panel.ts';
export {
  called,
  cpuBelow,
  hindsightChai,
  hindsightMatchers,
  type HindsightMatchers,
  noFindings,
  noNPlusOne,
  notCalled,
  queriesBelow,
} from './compose/testing/assertions.ts';
export type { FindingsAllowed } from './compose/testing/checks.ts';
export type { TestedResponse } from './compose/testing/read-response.ts';
