/** Rows -> Markdown: for an issue, a chat, or a program that reads text. */
import type { Figure, Presentation, Row, Section } from '../profiler/read/rows.ts';
import { blocks, type Column, fence, heading, prose, table } from '../view-helpers/markdown.ts';
import { count } from '../view-helpers/numbers.ts';
import { pathText, shownCallers } from '../view-helpers/call-path.ts';
import { amountText, FORMATS, valueText } from '../view-helpers/amount.ts';

const INDENT = '· ';
const MOST_BLOCKS = 60;
/** Of those that one row summarizes. */
const MOST_ALIKE = 5;

function figureLine(figures: readonly Figure[]): string {
  return figures
    .filter(({ value }) => value !== null)
    .map(({ label, value, unit, note }) => {
      const amount = valueText(value, unit);
      return `${prose(label)}: ${prose(note === undefined ? amount : `${amount} (${note})`)}`;
    })
    .join(' · ');
}

function indented(text: string, { depth = 0 }: Row): string {
  return `${INDENT.repeat(depth)}${text}`;
}

function textOf(row: Row): unknown {
  const { label, text, times = 1, depth = 0 } = row;
  if (text === undefined || (times === 1 && depth === 0)) return text;
  const said = times > 1 ? `${count(times)} × ${valueText(text)}` : valueText(text);
  return label === undefined ? indented(said, row) : said;
}

function labelOf(row: Row): string | undefined {
  return row.label === undefined ? undefined : indented(row.label, row);
}

function columnsOf({ columns = {}, unit = 'ms', rows }: Section): Column<Row>[] {
  const fields = new Map(
    rows.flatMap(({ fields = [] }) => fields.map((field) => [field.label, field.unit] as const)),
  );
  return [
    {
      title: columns.number ?? FORMATS[unit].title,
      value: ({ number }) => (number === undefined || number === null ? null : amountText(number, unit)),
      plain: true,
    },
    { title: columns.label ?? 'Name', value: labelOf },
    { title: columns.text ?? 'Value', value: textOf },
    { title: columns.badges ?? 'Mark', value: ({ badges = [] }) => badges.join(', ') || null, plain: true },
    ...Array.from(fields, ([title, fieldUnit]): Column<Row> => ({
      title,
      value(row) {
        const { value, unit: own } = row.fields?.find(({ label }) => label === title) ?? {};
        return typeof value === 'number' ? amountText(value, own ?? 'count') : value;
      },
      plain: fieldUnit !== undefined,
    })),
    { title: columns.note ?? 'Note', value: ({ note }) => note, plain: true },
    { title: columns.place ?? 'Place', value: (row) => pathText(row.place, shownCallers(row)) },
  ];
}

function isTitle({ text, number, fields = [], place, note }: Row): boolean {
  return text === undefined && number === undefined && fields.length === 0 && !place && !note;
}

/** What repeats: the first rows, and those that stand out. */
function withoutAlike(rows: readonly Row[]): Row[] {
  const seen = new Map<string, number>();
  return rows.filter(({ within, tone = 'plain' }) => {
    if (within === undefined) return true;
    const before = seen.get(within) ?? 0;
    seen.set(within, before + 1);
    return before < MOST_ALIKE || tone !== 'plain';
  });
}

export function sectionMarkdown(section: Section): string {
  const { title, note, rows, left = 0, none, inMarkdown = true } = section;
  if (!inMarkdown || (rows.length === 0 && none === undefined)) return '';
  // A block may be made when it is read.
  const long = rows.filter((row) => 'block' in row);
  const all = rows.filter((row) => !('block' in row) || !isTitle(row));
  const listed = withoutAlike(all);
  const alike = all.length - listed.length;
  return blocks([
    heading(3, title),
    note === undefined ? '' : prose(note),
    rows.length === 0 ? prose(none ?? '') : table(columnsOf(section), listed),
    alike > 0 ? `${count(alike, 'more row')} like these left out.` : '',
    ...long
      .slice(0, MOST_BLOCKS)
      .map(({ label, block }) =>
        blocks([
          label === undefined ? '' : prose(label),
          block === undefined ? '' : fence(block.text, block.language),
        ]),
      ),
    left + Math.max(0, long.length - MOST_BLOCKS) > 0
      ? `${count(left + Math.max(0, long.length - MOST_BLOCKS), 'more row')} not shown.`
      : '',
  ]);
}

export function rowsMarkdown({ lead = [], figures = [], sections }: Presentation): string {
  return blocks([lead.map(prose).join(' '), figureLine(figures), ...sections.map(sectionMarkdown)]);
}
