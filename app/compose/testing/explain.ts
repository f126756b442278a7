/** Why a check failed, as short Markdown: the findings and the panel that show it, with `file:line`. */
import { createFindingsModel } from '../../controllers/profiler/findings-model.ts';
import { findingParts } from '../../controllers/profiler/short-markdown.ts';
import type { Finding } from '../../profiler/finding.ts';
import type { Section } from '../../profiler/rows.ts';
import { presentPanel } from '../../render/present-panel.ts';
import { rowsMarkdown } from '../../render/rows-markdown.ts';
import { blocks } from '../../view-helpers/markdown.ts';
import type { TestedProfile } from '../process-profilers.ts';

const MOST_FINDINGS = 3;
const MOST_ROWS = 12;

/** The first rows, without the columns and texts that only the page has room for. */
function shortSection(section: Section): Section {
  const { rows, left = 0 } = section;
  return {
    ...section,
    rows: rows.slice(0, MOST_ROWS).map((row) => ({ ...row, block: undefined, fields: [] })),
    left: left + Math.max(0, rows.length - MOST_ROWS),
  };
}

export function explainFindings(
  { profile, panels, rules }: TestedProfile,
  findings: readonly Finding[],
): string {
  const of = { ...profile, findings: findings.slice(0, MOST_FINDINGS) };
  return blocks([
    ...findingParts({ profile, panels, amendments: {}, findings: createFindingsModel(of, rules, {}) }),
    findings.length > MOST_FINDINGS ? `And ${findings.length - MOST_FINDINGS} more.` : '',
  ]);
}

/** Sections of a panel by their ids. */
export function explainPanel(
  { profile, panels }: TestedProfile,
  name: string,
  ids: readonly string[],
): string {
  const panel = panels.find((one) => one.name === name);
  const presented = panel === undefined ? null : presentPanel(panel, { profile, amendments: {} });
  if (presented === null) return '';
  const { figures = [], sections } = presented;
  return rowsMarkdown({ figures, sections: sections.filter(({ id }) => ids.includes(id)).map(shortSection) });
}
