/** The drawings of the overview. */
import type { PanelPage } from '../../profiler/panel.ts';
import { addressOf } from '../../render/rows-page.ts';
import { legendOf, outsideTexts, timelineOf } from '../shared/timeline-data.ts';
import { besideSections } from './beside.ts';
import { overviewOf } from './present.ts';
import type { OverviewData } from './ran.ts';
import { workOf } from './work.ts';

/** Findings shown; a fold that hides a single one would be as long as it. */
const SHOWN = 5;

export function drawOverview(data: OverviewData, page: PanelPage) {
  const { profile, query } = page;
  const isAsRan = query.order === 'run';
  const overview = overviewOf(data, page);
  const { findings } = overview;
  const timeline = timelineOf(profile);
  const shown = findings.length <= SHOWN + 1 ? findings : findings.slice(0, SHOWN);
  return {
    ...overview,
    beside: besideSections(page, overview.differences),
    findings: shown,
    folded: findings.slice(shown.length),
    findingsLeft: profile.findingsLeft ?? 0,
    timeline,
    shares: timeline === null ? [] : legendOf(timeline),
    totalMs: timeline?.totalMs ?? 0,
    notCounted: timeline === null ? [] : outsideTexts(timeline),
    work: overview.isOfTime ? workOf(profile, findings, isAsRan) : null,
    isAsRan,
    worstHref: `${addressOf('overview', {})}#time`,
    ranHref: `${addressOf('overview', { order: 'run' })}#time`,
  };
}
