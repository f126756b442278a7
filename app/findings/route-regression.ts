/**
 * A route that became worse with a release. Only earlier requests show that, so the finding is made when a profile is read
 * (app/controllers/profiler/release-finding.ts); the rule explains it.
 */
import type { FindingRule } from '../profiler/finding-rule.ts';

export const routeRegression: FindingRule = {
  name: 'route-regression',
  needs: ['overview'],
  labels: ['regression'],
  why: 'With this release, the median of the route’s queries grew by at least 2 and 10 %, its times by half and 20 ms, or its errors by 5 % of the requests.',
  fix: 'Compare a request of each release, and look at what the release changed: the route’s page links to both.',
  find: () => [],
};
