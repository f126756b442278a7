/** Rows -> what the page of a panel without a view of its own shows: the first of each section, the rest on request. */
import type { Presentation, Row, Section } from '../profiler/rows.ts';
import { NUMBER_TITLES } from '../view-helpers/amount.ts';

/** Rows of a list, unless the address requests all. */
const FIRST_ROWS = 500;

type Query = Readonly<Record<string, string>>;

/** The first rows of a list. All of them if the address requests all, or opens one, which may be further down. */
export function firstRows<T>(rows: readonly T[], { all, open = '' }: Query): readonly T[] {
  return all === '1' || open !== '' ? rows : rows.slice(0, FIRST_ROWS);
}

export interface PageSection extends Omit<Section, 'rows'> {
  rows: readonly Row[];
  /** Rows that are not shown. */
  hidden: number;
  /** Titles of the columns that some row fills, in their order; null if rows are names and values. */
  table:
    | { title: string; kind: 'number' | 'label' | 'text' | 'badges' | 'field' | 'note' | 'place' }[]
    | null;
}

export interface RowsPage extends Omit<Presentation, 'sections' | 'card'> {
  sections: PageSection[];
  /** The page with all rows. */
  allHref: string;
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
  { query, allHref }: { query: Query; allHref: string },
): RowsPage {
  const shown = sections.map((section): PageSection => {
    const rows = firstRows(section.rows, query);
    return { ...section, rows, hidden: section.rows.length - rows.length, table: tableOf(section) };
  });
  return {
    lead,
    figures,
    sections: shown.filter(({ rows, none }) => rows.length > 0 || none !== undefined),
    allHref,
  };
}
