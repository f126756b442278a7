/** The package's door for tests: what a request may cost, and what your own panels show. */
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
