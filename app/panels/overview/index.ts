/**
 * What a profile opens on from the list and the toolbar: what came back, what is wrong, what took the time, how this route usually is,
 * what was received and sent. It records nothing: other panels did, and prove it. The address without a panel keeps to the contract, and
 * opens the exception or the request.
 */
import type { Panel } from '../../profiler/panel.ts';
import type { Tone } from '../../profiler/rows.ts';
import { drawOverview } from './draw.ts';
import { presentOverview } from './present.ts';
import { collectSummary, type SummaryFacts } from './summary.ts';

export interface OverviewData {
  findings: number;
  worst: Tone;
  /** Set if only a summary of the request was recorded. */
  summary?: SummaryFacts;
}

export const overviewPanel: Panel<OverviewData, SummaryFacts> = {
  name: 'overview',
  title: 'Overview',
  menu: {
    key: 'w',
    rank: false,
    summary: ({ findings, worst }) => (findings === 0 ? null : { text: String(findings), tone: worst }),
  },
  collect: collectSummary,
  data: ({ collected, profile: { findings, findingsLeft = 0 } }) => {
    const [first] = findings;
    return {
      findings: findings.length + findingsLeft,
      worst: first === undefined || first.severity === 'info' ? 'plain' : first.severity,
      ...(collected === null ? {} : { summary: collected }),
    };
  },
  rows: ({ summary }, from) => presentOverview(from, summary),
  view: { model: (_data, page) => drawOverview(page) },
};
