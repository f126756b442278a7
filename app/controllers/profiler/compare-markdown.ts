/** A comparison as Markdown: summary, both requests, differences. Identical values are only counted. */
import type { Profile } from '../../profiler/profile.ts';
import { sectionMarkdown } from '../../render/rows-markdown.ts';
import { blocks, code, heading, prose } from '../../view-helpers/markdown.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { type Comparison, type FindingChange, findingChanges } from './compare-profiles.ts';
import { comparisonSections } from './compare-rows.ts';
import { summarizeComparison } from './compare-summary.ts';

const { timestampText } = numberHelpers;

function requestLine(name: string, { token, method, url, status, startedAt }: Profile): string {
  return `- ${name}: ${code(token)} ${code(`${method} ${url}`)}, ${status ?? 'no response'}, ${timestampText(startedAt)}`;
}

function findingsOf(changes: readonly FindingChange[]): string {
  const lines = changes.flatMap(({ word, findings }) =>
    findings.map(({ label, sentence }) => `- ${word}: ${prose(`${label}: ${sentence}`)}`),
  );
  return lines.length === 0 ? '' : blocks([heading(3, 'Findings'), lines.join('\n')]);
}

/** `repeated`: which of the two is the other one, sent again. */
export function compareMarkdown(
  a: Profile,
  b: Profile,
  { comparison, repeated }: { comparison: Comparison; repeated: 'A' | 'B' | null },
): string {
  const { figures, findings } = comparison;
  const text = blocks([
    heading(2, 'Two requests compared'),
    `${requestLine('A', a)}\n${requestLine('B', b)}`,
    prose(summarizeComparison(a, b, figures)),
    findingsOf(findingChanges(findings, repeated)),
    ...comparisonSections(comparison, false).map(sectionMarkdown),
  ]);
  return `${text}\n`;
}
