/** Rows -> what the page of a panel without a view of its own shows: as many as fit, the rest behind a link. */
import type { Presentation, Row, Section } from '../profiler/rows.ts';
import { NUMBER_TITLES, valueText } from '../view-helpers/amount.ts';

/** Characters of HTML that the rows of a page may take, so that it stays below 60 KB. */
const ROOM = 31_000;
const MOST_ROWS = 200;
/** With `all`: everything that is stored of one kind. */
const ALL_ROWS = 1000;
const LONGEST_TEXT = 6000;

export interface PageSection extends Omit<Section, 'rows'> {
  rows: readonly Row[];
  /** Rows that did not fit. */
  hidden: number;
  /** Titles of the columns that some row fills, in their order; null if rows are names and values. */
  table:
    | { title: string; kind: 'number' | 'label' | 'text' | 'badges' | 'field' | 'note' | 'place' }[]
    | null;
}

export interface RowsPage extends Omit<Presentation, 'sections' | 'card'> {
  sections: PageSection[];
  /** The page with all rows; null if nothing is hidden, or this is it. */
  allHref: string | null;
}

function costOf({ text, fields = [], block, note, place }: Row): number {
  const texts = [text, note, place, ...fields.map(({ value }) => value)];
  const long = block === undefined ? 0 : 300 + Math.min(block.text.length, LONGEST_TEXT) * 2;
  return (
    250 +
    long +
    texts.reduce<number>((sum, value) => sum + 30 + Math.min(valueText(value).length, LONGEST_TEXT), 0)
  );
}

function tableOf({ columns, rows, unit = 'ms' }: Section): PageSection['table'] {
  const fields = new Set(rows.flatMap(({ fields = [] }) => fields.map(({ label }) => label)));
  const has = (name: keyof Row): boolean => rows.some((row) => row[name] !== undefined && row[name] !== null);
  if (columns === undefined && fields.size === 0 && !has('number')) return null;
  const titles: NonNullable<PageSection['table']> = [];
  if (has('label')) titles.push({ title: columns?.label ?? 'Name', kind: 'label' });
  if (has('text') || has('badges') || has('block'))
    titles.push({ title: columns?.text ?? 'Value', kind: 'text' });
  for (const title of fields) titles.push({ title, kind: 'field' });
  if (has('note')) titles.push({ title: columns?.note ?? 'Note', kind: 'note' });
  if (has('number')) titles.push({ title: columns?.number ?? NUMBER_TITLES[unit], kind: 'number' });
  if (has('place')) titles.push({ title: columns?.place ?? 'Place', kind: 'place' });
  return titles;
}

export function rowsPage(
  { lead = [], figures = [], sections }: Presentation,
  { all, allHref }: { all: boolean; allHref: string },
): RowsPage {
  let room = all ? Infinity : ROOM;
  const shown = sections.map((section): PageSection => {
    const rows: Row[] = [];
    for (const row of section.rows.slice(0, all ? ALL_ROWS : MOST_ROWS)) {
      room -= costOf(row);
      if (room < 0 && rows.length > 0) break;
      rows.push(row);
    }
    return { ...section, rows, hidden: section.rows.length - rows.length, table: tableOf(section) };
  });
  return {
    lead,
    figures,
    sections: shown.filter(({ rows, none }) => rows.length > 0 || none !== undefined),
    allHref: !all && shown.some(({ hidden }) => hidden > 0) ? allHref : null,
  };
}
