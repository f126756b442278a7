/**
 * The page that list and toolbar open: findings, what was received, asked and sent, what took the time, how this route usually is. It
 * records nothing: other panels did, and prove it. The address without a panel keeps to the contract: it opens the exception or the request.
 */
import type { Panel, PanelPage } from '../../profiler/panel.ts';
import { legendOf, outsideTexts, timelineOf } from '../shared/timeline-data.ts';
import { overviewOf, overviewSteps, presentOverview } from './present.ts';
import { type OverviewData, ranOf } from './ran.ts';
import type { SummaryFacts } from '../../profiler/store/profile-index.ts';
import { workOf } from './work.ts';

/** Findings shown; a fold that hides a single one would be as long as it. */
const SHOWN = 5;

function drawOverview(data: OverviewData, page: PanelPage) {
  const { profile } = page;
  const overview = overviewOf(data, page);
  const { findings } = overview;
  const timeline = timelineOf(profile);
  const shown = findings.length <= SHOWN + 1 ? findings : findings.slice(0, SHOWN);
  return {
    ...overview,
    findings: shown,
    folded: findings.slice(shown.length),
    findingsLeft: profile.findingsLeft ?? 0,
    timeline,
    shares: timeline === null ? [] : legendOf(timeline),
    totalMs: timeline?.totalMs ?? 0,
    notCounted: timeline === null ? [] : outsideTexts(timeline),
    work: overview.isOfTime ? workOf(profile, findings) : null,
  };
}

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
  prepare: overviewSteps,
  view: { model: drawOverview },
};
