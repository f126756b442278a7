/** A profile as Markdown, for an issue, a chat or a program. Stored text is already masked; here it is escaped. */
import { errorText } from '../../profiler/error-text.ts';
import { dataOf } from '../../panels/shared/panel-data.ts';
import type { FixCode } from '../../profiler/read/finding.ts';
import type { Panel, PanelPage, PresentFrom } from '../../profiler/panel.ts';
import type { Profile } from '../../profiler/profile.ts';
import { pathOf } from '../../profiler/request-target.ts';
import { pathText, shownCallers } from '../../view-helpers/call-path.ts';
import { blocks, code, fence, heading, pairs, prose } from '../../view-helpers/markdown.ts';
import { presentNamed, presentPanel } from '../../render/present-panel.ts';
import type { Section } from '../../profiler/read/rows.ts';
import { rowsMarkdown, sectionMarkdown } from '../../render/rows-markdown.ts';
import { historyText } from '../../view-helpers/history.ts';
import { count, durationText, timestampText } from '../../view-helpers/numbers.ts';
import type { FindingsModel } from './findings-model.ts';
import { droppedTexts, endingOf, hasContent, OVERVIEW, type ShownProfile } from './profile-model.ts';
import { STATUS_CODES } from '../../node-http.ts';
import type { Steps } from '../../profiler/turns.ts';

interface Written {
  panels: readonly Panel[];
  beside: PanelPage['beside'];
}

export function statusOf(profile: Profile): string {
  const { status, outcome } = profile;
  if (status === null) return endingOf(profile);
  const phrase = `${status} ${STATUS_CODES[status] ?? ''}`.trim();
  return outcome === 'aborted' || outcome === 'cut off' ? `${phrase}, ${outcome}` : phrase;
}

/** The fix of a finding, with what it assumes, which may contain names of the application. */
export function codeMarkdown({ text, language, assumes }: FixCode): string {
  return blocks([fence(text, language), prose(assumes)]);
}

function headOf(profile: Profile): string {
  const { origin, url, route, durationMs, startedAt, token, requestId, release, error } = profile;
  const rows: [string, string | null][] = [
    ['Status', statusOf(profile)],
    ['Address', url.startsWith('/') ? `${origin ?? ''}${url}` : url],
    ['Route', route],
    ['Thrown', error === null ? null : errorText(error)],
    ['Time', durationMs === null ? null : durationText(durationMs)],
    ['At', timestampText(startedAt)],
    ['Release', release],
    ['Request id', requestId],
    ['Token', token],
  ];
  return pairs(rows, true);
}

function findingsOf({ shown, folded, left, rules }: FindingsModel): string {
  const findings = [...shown, ...folded];
  if (findings.length === 0) return '';
  const items = findings.map(({ label, severity, sentence, place, path, history }) => {
    const from = pathText(place, shownCallers({ path, place: place ?? null }));
    const at = from === null ? '' : ` (${code(from)})`;
    return `- **${prose(label)}** (${severity}): ${prose(sentence)}${at}${history === undefined ? '' : `. ${prose(historyText(label, history))}`}`;
  });
  const texts = rules.map(({ labels, why, fix }) => `- ${prose(labels.join(', '))}: ${why} ${fix}`.trim());
  return blocks([
    heading(2, 'Findings'),
    items.join('\n'),
    left > 0 ? `${count(left, 'more finding')} not stored.` : '',
    texts.length === 0 ? '' : blocks(['Why this is flagged, and how to fix it:', texts.join('\n')]),
    ...findings.flatMap(({ label, place, code: fixCode }) => {
      if (fixCode === undefined) return [];
      const at = place === undefined ? '' : `, ${code(place)}`;
      return [blocks([`As code (${prose(label)}${at}):`, codeMarkdown(fixCode)])];
    }),
  ]);
}

function bodyOf(panel: Panel, from: PresentFrom): string {
  const { profile } = from;
  const record = profile.panels[panel.name];
  if (record?.error) return `${prose(panel.title)} could not be recorded: ${code(record.error)}`;
  const presented = presentPanel(panel, from);
  return presented === null ? 'Nothing was recorded.' : rowsMarkdown(presented);
}

const AT_TOP = new Set(['started', 'differs-here', 'since', 'beside', 'received', 'asked', 'sent', 'code']);

function topOf(panels: readonly Panel[], from: PresentFrom): string[] {
  if (panels.length === 1 || from.profile.summary !== null) return [];
  const { sections } = presentNamed(panels, OVERVIEW, from);
  const verdict = sections.find(({ id, rows }) => id === 'wrong' && rows.length === 0)?.none;
  const write = (section: Section): string => sectionMarkdown(section).replace(/^### /, '## ');
  return [
    ...sections.filter(({ id }) => id === 'leads').map(write),
    ...(verdict === undefined ? [] : [prose(verdict)]),
    ...sections.filter(({ id }) => AT_TOP.has(id)).map(write),
  ];
}

function droppedOf({ dropped }: Profile, panels: readonly Panel[]): string {
  const parts = droppedTexts(dropped, panels).map(prose);
  return parts.length === 0 ? '' : `Recording limit reached: ${parts.join(', ')} not kept.`;
}

function versionsOf(profile: Profile): string {
  const { packages = [], process = [] } = dataOf(profile, 'configuration') ?? {};
  const of = (name: string) => process.find((row) => row.name === name)?.value ?? null;
  const parts = [
    ...packages.filter((text) => /^(?:express|express-hindsight) /.test(text)),
    of('node') === null ? null : `Node ${of('node')}`,
    of('platform'),
  ].filter((part) => part !== null);
  return parts.length === 0 ? '' : blocks(['---', parts.map((part) => code(part, 100)).join(' · ')]);
}

export function* profileMarkdown(of: ShownProfile, { panels, beside }: Written): Steps<string> {
  const { profile, amendments, findings } = of;
  const from = { profile, amendments, beside };
  const path = pathOf(profile.url);
  // The overview repeats what the findings and the other panels say, unless only a summary was recorded.
  const shown =
    panels.length === 1
      ? panels
      : panels.filter(
          ({ name }) => (name !== OVERVIEW || profile.summary !== null) && hasContent(profile, name),
        );
  const bodies: string[] = [];
  for (const panel of shown) {
    bodies.push(heading(2, panel.title), bodyOf(panel, from));
    yield;
  }
  const document = blocks([
    `# ${code(`${profile.method} ${path}`, 200)}: ${prose(statusOf(profile))}`,
    headOf(profile),
    panels.length === 1 ? '' : findingsOf(findings),
    ...topOf(panels, from),
    ...bodies,
    droppedOf(profile, of.panels),
    versionsOf(profile),
  ]);
  return `${document}\n`;
}
