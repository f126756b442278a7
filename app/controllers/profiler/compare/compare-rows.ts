/** A comparison as rows, for its page and as Markdown: figures, work, and values that differ. */
import { type Field, NONE, type Row, type Section } from '../../../profiler/read/rows.ts';
import { amountText } from '../../../view-helpers/amount.ts';
import { count, durationText, percentText, timestampText } from '../../../view-helpers/numbers.ts';
import {
  type Comparison,
  type FigureRow,
  type FindingChange,
  findingChanges,
  type ValueRow,
  type WorkRow,
  type WorkSection,
} from './compare-profiles.ts';
import { endingOf } from '../profile-model.ts';
import type { Profile } from '../../../profiler/profile.ts';
import { sectionMarkdown } from '../../../render/rows-markdown.ts';
import { blocks, code, heading, prose } from '../../../view-helpers/markdown.ts';
import { summarizeComparison } from './compare-summary.ts';

const FACTOR = 10;

function signed(by: number, text: string): string {
  return text.startsWith('<') ? text : `${by > 0 ? '+' : '−'}${text}`;
}

function changeText({ a, change: by, unit, ratio }: FigureRow): string {
  if (by === null) return `in ${a === null ? 'B' : 'A'} only`;
  if (by === 0) return 'same';
  const size = signed(by, amountText(Math.abs(by), unit));
  if (ratio === null) return size;
  const share =
    ratio >= FACTOR ? `${count(Math.round(ratio + 1))} times` : signed(by, percentText(Math.abs(by), a));
  return `${size}, ${share}`;
}

function figureRow(figure: FigureRow, index: number): Row {
  const { label, a, b, unit, tone } = figure;
  return {
    id: `f${index + 1}`,
    label,
    fields: [
      { label: 'A', value: a, unit },
      { label: 'B', value: b, unit },
    ],
    note: changeText(figure),
    ...(tone === 'bad' ? { tone } : tone === 'good' ? { mark: 'on' as const } : {}),
  };
}

function workField(name: string, side: WorkRow['a']): Field {
  if (side === null) return { label: name, value: NONE };
  const { times, ms } = side;
  if (times === 1 && ms !== null) return { label: name, value: ms, unit: 'ms' };
  return { label: name, value: `${count(times)} ×${ms === null ? '' : ` in ${durationText(ms)}`}` };
}

function workSection({ title, onlyA, onlyB, both, rows }: WorkSection, index: number, all: boolean): Section {
  const wanted = all ? rows : rows.filter(({ unchanged }) => !unchanged);
  const left = rows.length - wanted.length;
  const unchanged = left === 0 ? '' : `; ${count(left)} unchanged (same count, time within 10 %)`;
  return {
    id: `w${index + 1}`,
    title,
    note: `${count(onlyA)} only in A, ${count(onlyB)} only in B, ${count(both)} in both${unchanged}`,
    columns: { label: 'In', text: title },
    rows: wanted.map(({ label, tokens, mark, in: where, a, b }) => ({
      label: where === 'both' ? 'both' : `only ${where.toUpperCase()}`,
      text: label,
      ...(tokens ? { line: () => tokens } : {}),
      ...(mark === null ? {} : { badges: [mark] }),
      fields: [workField('A', a), workField('B', b)],
    })),
    none: 'All the same.',
  };
}

function valueRow({ section, name, a, b }: ValueRow): Row {
  return {
    label: section,
    text: name,
    fields: [
      { label: 'A', value: a ?? '(absent)' },
      { label: 'B', value: b ?? '(absent)' },
    ],
  };
}

export function comparisonSections(
  { figures, work, values, valuesAlike }: Comparison,
  all: boolean,
): Section[] {
  return [
    {
      id: 'figures',
      title: 'Figures',
      columns: { label: 'Figure', note: 'Change' },
      rows: figures.map(figureRow),
    },
    ...work.map((section, index) => workSection(section, index, all)),
    {
      id: 'values',
      title: 'Values that differ',
      note: `${count(valuesAlike)} identical; those that always differ (date, tokens, request id, connection) are left out`,
      columns: { label: 'Where', text: 'Name' },
      rows: values.map(valueRow),
      none: 'None differ.',
    },
  ];
}

function requestLine(name: string, profile: Profile): string {
  const { token, method, url, startedAt } = profile;
  return `- ${name}: ${code(token)} ${code(`${method} ${url}`)}, ${endingOf(profile)}, ${timestampText(startedAt)}`;
}

function findingsOf(changes: readonly FindingChange[]): string {
  const lines = changes.flatMap(({ word, findings }) =>
    findings.map(({ label, sentence }) => `- ${word}: ${prose(`${label}: ${sentence}`)}`),
  );
  return lines.length === 0 ? '' : blocks([heading(3, 'Findings'), lines.join('\n')]);
}

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
