/** The entry point for tests: budgets of a request, and the output of your own panels. */
export { showPanel, type ShownPanel } from './compose/testing/show-panel.ts';
export {
  called,
  cpuBelow,
  noFindings,
  noNPlusOne,
  notCalled,
  queriesBelow,
} from './compose/testing/assertions.ts';
export { hindsightChai } from './compose/testing/chai-plugin.ts';
export { hindsightMatchers, type HindsightMatchers } from './compose/testing/matchers.ts';
export type { FindingsAllowed } from './compose/testing/checks.ts';
export type { TestedResponse } from './compose/testing/read-response.ts';
