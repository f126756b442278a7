/** What the page of the overview shows. */
import type { ExplainedFinding } from '../../profiler/finding.ts';
import type { PanelPage, PresentFrom } from '../../profiler/panel.ts';
import type { Profile } from '../../profiler/profile.ts';
import { SPAN_KINDS } from '../../profiler/span.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { addressOf } from '../../render/rows-page.ts';
import { legendOf, outsideTexts, type TimelineData, timelineOf } from '../shared/timeline-data.ts';
import { receivedOf, sentOf } from './exchange.ts';
import { usualOf } from './usual.ts';
import { workOf } from './work.ts';

/** Findings shown; a fold that hides a single one would be as long as it. */
const SHOWN = 5;

/** Without the texts of rules, if nobody gave them. */
export function findingsOf({
  profile,
  beside,
}: Pick<PresentFrom, 'profile' | 'beside'>): readonly ExplainedFinding[] {
  return (
    beside?.findings ?? profile.findings.map((finding) => ({ ...finding, why: '', fix: '', evidence: [] }))
  );
}

/** `14 middleware, 3 queries, 2 log lines`: what rules had to look at. */
function recordedTexts({ panels }: Profile, timeline: TimelineData | null): string[] {
  const { count } = numberHelpers;
  const lines = panels.logs?.summary?.count ?? 0;
  const kinds = (['app', 'middleware', 'db', 'out', 'view', 'work'] as const).map((kind) => {
    const ran = (timeline?.spans ?? []).filter((span, index) => index > 0 && span.kind === kind && span.panel !== 'runtime').length; // prettier-ignore
    const { one, many } = SPAN_KINDS[kind];
    return { ran: kind === 'db' ? (panels.database?.summary?.count ?? ran) : ran, one, many };
  });
  return [...kinds, { ran: lines, one: 'log line', many: 'log lines' }]
    .filter(({ ran }) => ran > 0)
    .map(({ ran, one, many }) => count(ran, one, many));
}

/** Why there is no finding: how many rules looked at what, or why none did. */
export function noneFound({ profile, beside }: Pick<PresentFrom, 'profile' | 'beside'>): string {
  const { kind, summary } = profile;
  if (kind === 'profiler' || kind === 'error_page') return 'The profiler’s own pages are not checked.';
  if (summary !== null) return 'Only a summary was recorded, so no rule checked this request.';
  const { rulesChecked = 0 } = beside ?? {};
  if (rulesChecked === 0) return 'No finding.';
  const recorded = recordedTexts(profile, timelineOf(profile));
  const rules = numberHelpers.count(rulesChecked, 'rule');
  return `No finding: ${rules} checked ${recorded.length === 0 ? 'the request and its response' : recorded.join(', ')}.`;
}

export function drawOverview(page: PanelPage) {
  const { profile, query, beside } = page;
  const findings = findingsOf(page);
  const timeline = timelineOf(profile);
  const isAsRan = query.order === 'run';
  const shown = findings.length <= SHOWN + 1 ? findings : findings.slice(0, SHOWN);
  return {
    findings: shown,
    folded: findings.slice(shown.length),
    findingsLeft: profile.findingsLeft ?? 0,
    noneFound: noneFound(page),
    timeline,
    shares: timeline === null ? [] : legendOf(timeline),
    totalMs: timeline?.totalMs ?? 0,
    notCounted: timeline === null ? [] : outsideTexts(timeline),
    work: workOf(profile, findings, isAsRan),
    isAsRan,
    worstHref: `${addressOf('overview', {})}#time`,
    ranHref: `${addressOf('overview', { order: 'run' })}#time`,
    usual: usualOf(profile, beside),
    received: receivedOf(profile),
    sent: sentOf(profile),
  };
}
