/** A comparison as Markdown: summary, both requests, differences. Identical values are only counted. */
import type { Profile } from '../../profiler/profile.ts';
import { blocks, code, heading, prose, table } from '../../view-helpers/markdown.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import {
  type Comparison,
  type FigureRow,
  type FindingChange,
  findingChanges,
  type ValueRow,
  type WorkRow,
  type WorkSection,
} from './compare-profiles.ts';
import { summarizeComparison } from './compare-summary.ts';

const { bytesText, count, durationText, timestampText } = numberHelpers;

function requestLine(name: string, { token, method, url, status, startedAt }: Profile): string {
  return `- ${name}: ${code(token)} ${code(`${method} ${url}`)}, ${status ?? 'no response'}, ${timestampText(startedAt)}`;
}

function amount(value: number | null, unit: FigureRow['unit']): string {
  if (value === null) return '–';
  return unit === 'ms' ? durationText(value) : unit === 'bytes' ? bytesText(value) : String(value);
}

function change({ change: by, unit }: FigureRow): string {
  if (by === null || by === 0) return by === 0 ? 'same' : '–';
  return `${by > 0 ? '+' : '−'}${amount(Math.abs(by), unit)}`;
}

function work(side: WorkRow['a']): string {
  if (side === null) return '–';
  return side.ms === null ? `${side.times} ×` : `${side.times} × in ${durationText(side.ms)}`;
}

function sectionOf({ title, onlyA, onlyB, both, rows }: WorkSection): string {
  const differing = rows.filter(({ unchanged }) => !unchanged);
  if (differing.length === 0) return '';
  return blocks([
    heading(3, title),
    `${onlyA} only in A, ${onlyB} only in B, ${both} in both.`,
    table<WorkRow>(
      [
        {
          title: 'In',
          value: (row) => (row.in === 'both' ? 'both' : `only ${row.in.toUpperCase()}`),
          plain: true,
        },
        { title, value: ({ label }) => label },
        { title: 'A', value: ({ a }) => work(a), plain: true },
        { title: 'B', value: ({ b }) => work(b), plain: true },
      ],
      differing,
    ),
  ]);
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
  const { figures, work: sections, values, valuesAlike, findings } = comparison;
  const text = blocks([
    heading(2, 'Two requests compared'),
    `${requestLine('A', a)}\n${requestLine('B', b)}`,
    prose(summarizeComparison(a, b, figures)),
    findingsOf(findingChanges(findings, repeated)),
    heading(3, 'Figures'),
    table<FigureRow>(
      [
        { title: 'Figure', value: ({ label }) => label, plain: true },
        { title: 'A', value: (row) => amount(row.a, row.unit), plain: true },
        { title: 'B', value: (row) => amount(row.b, row.unit), plain: true },
        { title: 'Change', value: change, plain: true },
      ],
      figures,
    ),
    ...sections.map(sectionOf),
    values.length === 0 ? '' : heading(3, 'Values that differ'),
    table<ValueRow>(
      [
        { title: 'Where', value: ({ section }) => section, plain: true },
        { title: 'Name', value: ({ name }) => name },
        { title: 'A', value: (row) => row.a },
        { title: 'B', value: (row) => row.b },
      ],
      values,
    ),
    `${count(valuesAlike, 'value is', 'values are')} identical.`,
  ]);
  return `${text}\n`;
}
