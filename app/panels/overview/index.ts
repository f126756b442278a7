/**
 * The page that list and toolbar open: findings, what was received, asked and sent, what took the time, how this route usually is. It
 * records nothing: other panels did, and prove it. The address without a panel keeps to the contract: it opens the exception or the request.
 */
import type { Panel } from '../../profiler/panel.ts';
import { drawOverview } from './draw.ts';
import { presentOverview } from './present.ts';
import { type OverviewData, ranOf } from './ran.ts';
import type { SummaryFacts } from '../../profiler/profile-index.ts';

export const overviewPanel: Panel<OverviewData, SummaryFacts> = {
  name: 'overview',
  title: 'Overview',
  menu: {
    key: 'w',
    rank: false,
    summary: ({ findings, worst }) => (findings === 0 ? null : { text: String(findings), tone: worst }),
  },
  data: ({ collected, profile }) => {
    const { findings, findingsLeft = 0 } = profile;
    const [first] = findings;
    return {
      findings: findings.length + findingsLeft,
      worst: first === undefined || first.severity === 'info' ? 'plain' : first.severity,
      ...(collected === null ? { ran: ranOf(profile) } : { summary: collected }),
    };
  },
  rows: presentOverview,
  view: { model: drawOverview },
};
