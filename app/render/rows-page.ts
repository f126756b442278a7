/**
 * Rows -> what a page shows of them. This is the only place that orders, filters and cuts rows: a list shows its first rows, and the rest
 * on request.
 */
import type { Presentation, Row, Section } from '../profiler/rows.ts';
import { NUMBER_TITLES, valueText } from '../view-helpers/amount.ts';

/** Rows of a list, unless the address requests all. */
const FIRST_ROWS = 500;
/** Shorter lists have no filter and one order. */
const LONG = 11;
/** Longer texts are not searched for, because each link of the page would contain them. */
const LONGEST_FIND = 200;

type Query = Readonly<Record<string, string>>;

/** The first rows of a list. All of them if the address requests all, or opens one, which may be further down. */
export function firstRows<T>(rows: readonly T[], { all, open = '' }: Query): readonly T[] {
  return all === '1' || open !== '' ? rows : rows.slice(0, FIRST_ROWS);
}

/** The text of a page's field "find". */
export function findOf({ find = '' }: Query): string {
  return find.slice(0, LONGEST_FIND);
}

/** `?panel=logs&level=warn`: an address on the same page; empty values are left out. */
export function addressOf(panel: string, query: Readonly<Record<string, string | number | null>>): string {
  const search = new URLSearchParams({ panel });
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== '') search.set(name, String(value));
  }
  return `?${search.toString()}`;
}

/** Everything of a row that its page shows, in lower case. */
function wordsOf({ label, text, badges = [], note, place, fields = [], block }: Row): string {
  const values = [text, ...fields.map(({ value }) => value)].map((value) =>
    value === undefined ? '' : valueText(value),
  );
  return [label, note, place, block?.text, ...badges, ...values].join('\n').toLowerCase();
}

export interface PageSection extends Omit<Section, 'rows'> {
  rows: readonly Row[];
  /** Rows that match the filter. */
  found: number;
  /** All of them. */
  total: number;
  /** Long enough for a filter. */
  isLong: boolean;
  /** Its rows can be ordered by their number: they are no tree, and not in the order of time anyway. */
  isOrdered: boolean;
  /** Titles of the columns that some row fills, in their order; null if rows are names and values. */
  table:
    | { title: string; kind: 'number' | 'label' | 'text' | 'badges' | 'field' | 'note' | 'place' }[]
    | null;
}

export interface RowsPage extends Omit<Presentation, 'sections' | 'card'> {
  panel: string;
  sections: PageSection[];
  find: string;
  /** By number, the largest first, instead of in the order in which they were recorded. */
  isLargestFirst: boolean;
  /** The same page in the other order. */
  orderHref: string;
  /** The same page without the filter. */
  clearHref: string;
  /** The same page with all rows. */
  allHref: string;
}

function tableOf({ columns, rows, unit = 'ms' }: Section): PageSection['table'] {
  const known = rows.flatMap(({ fields = [] }) =>
    fields.filter(({ value }) => value !== null && value !== undefined),
  );
  const fields = new Set(known.map(({ label }) => label));
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
  { panel, query }: { panel: string; query: Query },
): RowsPage {
  const find = findOf(query);
  const isLargestFirst = query.order === 'largest';
  const order = isLargestFirst ? 'largest' : null;
  const shown = sections.map((section): PageSection => {
    const { rows, unit } = section;
    const isLong = rows.length >= LONG;
    const isOrdered = isLong && unit !== 'at' && rows.every(({ depth = 0 }) => depth === 0);
    const found =
      find === '' || !isLong ? rows : rows.filter((row) => wordsOf(row).includes(find.toLowerCase()));
    const ordered =
      isOrdered && isLargestFirst ? found.toSorted((a, b) => (b.number ?? 0) - (a.number ?? 0)) : found;
    return {
      ...section,
      rows: firstRows(ordered, query),
      found: found.length,
      total: rows.length,
      isLong,
      isOrdered,
      table: tableOf(section),
    };
  });
  return {
    panel,
    lead,
    figures,
    sections: shown.filter(({ total, none }) => total > 0 || none !== undefined),
    find,
    isLargestFirst,
    orderHref: addressOf(panel, { find, order: isLargestFirst ? null : 'largest' }),
    clearHref: addressOf(panel, { order }),
    allHref: addressOf(panel, { find, order, all: 1 }),
  };
}
