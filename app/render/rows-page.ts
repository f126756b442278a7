/**
 * Rows -> a page. This is the only place that orders, filters, folds and cuts rows: a list shows its first rows, and
 * the rest on request.
 */
import { addTo } from '../profiler/group-by.ts';
import { NONE, type Presentation, type Row, type Section } from '../profiler/read/rows.ts';
import { FORMATS, valueText } from '../view-helpers/amount.ts';

const FIRST_ROWS = 500;
/** Shorter lists have no filter and one order. */
const LONG = 11;
/** Longer texts are not searched for, because each link of the page would contain them. */
const LONGEST_FIND = 200;
const MOST_VALUES = 40;

type Query = Readonly<Record<string, string>>;

/** The first rows of a list. All of them if the address requests all, or opens one, which may be further down. */
export function firstRows<T>(rows: readonly T[], { all, open = '' }: Query): readonly T[] {
  return all === '1' || open !== '' ? rows : rows.slice(0, FIRST_ROWS);
}

/** The first rows and the one that the address opens: to open one of thousands must not show all of them. */
function firstAndOpen<T>(rows: readonly T[], { all }: Query, isOpen: (row: T) => boolean): readonly T[] {
  return all === '1' ? rows : rows.filter((row, index) => index < FIRST_ROWS || isOpen(row));
}

export function findOf({ find = '' }: Query): string {
  return find.slice(0, LONGEST_FIND);
}

/** `?panel=logs&level=warn`: an address of a panel; empty values are left out. */
export function addressOf(panel: string, query: Readonly<Record<string, string | number | null>>): string {
  return addressIn({ panel }, query);
}

function addressIn(page: Query, query: Readonly<Record<string, string | number | null>>): string {
  const search = new URLSearchParams(page);
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== '') search.set(name, String(value));
  }
  return `?${search.toString()}`;
}

function words(value: unknown): string {
  return value === undefined || value === null ? '' : valueText(value);
}

function wordsOf({ label, text, badges = [], note, place, fields = [], block, detail }: Row): string {
  const details = (detail?.() ?? []).flatMap((part) => [
    part.block?.text,
    words(part.value),
    ...(part.fields ?? []).flatMap(({ label: name, value }) => [name, words(value)]),
  ]);
  const values = fields.map(({ value }) => words(value));
  return [label, words(text), note, place, block?.text, ...badges, ...values, ...details]
    .join('\n')
    .toLowerCase();
}

export interface PageItem {
  row: Row;
  members: readonly Row[];
  more: number;
  isOpen: boolean;
}

export interface Facet {
  title: string;
  name: string;
  values: { value: string; count: number; isChosen: boolean }[];
}

export interface PageSection extends Omit<Section, 'rows' | 'facets'> {
  items: readonly PageItem[];
  found: number;
  total: number;
  matching: number;
  isLong: boolean;
  isOrdered: boolean;
  facets: Facet[];
  isFolded: boolean;
  largest: number;
  table:
    | {
        title: string;
        kind: 'number' | 'label' | 'text' | 'badges' | 'figure' | 'field' | 'note' | 'place';
      }[]
    | null;
}

export interface RowsPage extends Omit<Presentation, 'sections' | 'card'> {
  page: Query;
  sections: PageSection[];
  find: string;
  open: string;
  isLargestFirst: boolean;
  isSingle: boolean;
  orderHref: string;
  singleHref: string;
  clearHref: string;
  allHref: string;
}

function tableOf({ columns, rows, unit = 'ms' }: Section): PageSection['table'] {
  const known = rows.flatMap(({ fields = [] }) =>
    fields.filter(({ value }) => value !== null && value !== undefined),
  );
  const titles = new Set(
    known.length === 0 ? [] : rows.flatMap(({ detail }) => detail?.().map(({ title }) => title) ?? []),
  );
  const fields = new Set(known.flatMap(({ label }) => (titles.has(label) ? [] : [label])));
  const has = (name: keyof Row): boolean => rows.some((row) => row[name] !== undefined && row[name] !== null);
  if (columns === undefined && fields.size === 0 && !has('number')) return null;
  const table: NonNullable<PageSection['table']> = [];
  const number = { title: columns?.number ?? FORMATS[unit].title, kind: 'number' } as const;
  if (has('number') && unit === 'at') table.push(number);
  if (has('label')) table.push({ title: columns?.label ?? 'Name', kind: 'label' });
  if (has('text') || has('badges') || has('block'))
    table.push({ title: columns?.text ?? 'Value', kind: 'text' });
  for (const title of fields) {
    const isFigure = known.every(
      ({ label, value }) => label !== title || typeof value === 'number' || value === NONE,
    );
    table.push({ title, kind: isFigure ? 'figure' : 'field' });
  }
  if (has('note')) table.push({ title: columns?.note ?? 'Note', kind: 'note' });
  if (has('number') && unit !== 'at') table.push(number);
  if (has('place')) table.push({ title: columns?.place ?? 'Place', kind: 'place' });
  return table;
}

function cellOf({ columns }: Section, title: string, { label, badges = [], fields = [] }: Row): string {
  if (title === columns?.badges) return badges[0]?.replace(/ .*/, '') ?? '';
  return title === columns?.label
    ? (label ?? '')
    : words(fields.find((field) => field.label === title)?.value);
}

function facetOf(section: Section, title: string, query: Query): Facet {
  const name = title.toLowerCase();
  const counts = new Map<string, number>();
  for (const row of section.rows) {
    const value = cellOf(section, title, row);
    if (value !== '') counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  const values = [...counts].sort(([, a], [, b]) => b - a).slice(0, MOST_VALUES);
  return {
    title,
    name,
    values: values.map(([value, count]) => ({
      value,
      count,
      isChosen: query[name] === value || query[`${name}.${value}`] === '1',
    })),
  };
}

function chosenIn({ values }: Facet): Set<string> {
  return new Set(values.flatMap(({ value, isChosen }) => (isChosen ? [value] : [])));
}

interface Reading {
  query: Query;
  isLargestFirst: boolean;
  isSingle: boolean;
  summaries: ReadonlyMap<string, Row>;
}

function foldKeys(
  { folds }: Section,
  rows: readonly Row[],
  summaries: Reading['summaries'],
): (string | undefined)[] {
  let runs = 0;
  return rows.map(({ within, key, place, depth }, index) => {
    if (within !== undefined && summaries.has(within)) return within;
    if (folds !== 'adjacent')
      return folds === 'similar' && key !== undefined ? `${key}\n${place ?? ''}` : undefined;
    const before = rows[index - 1];
    if (before?.key !== key || before?.depth !== depth) runs++;
    return String(runs);
  });
}

function sumOf({ unit, bars }: Section, rows: readonly Row[]): Row {
  const { id, ...first } = rows[0] ?? {};
  return {
    ...first,
    ...(bars === undefined && id !== undefined ? { id } : {}),
    ...(unit === 'at' ? {} : { number: rows.reduce((sum, { number }) => sum + (number ?? 0), 0) }),
    ...(bars === undefined ? {} : { times: rows.length, detail: undefined }),
  };
}

/** Rows with the one that they are folded below; each takes the place of the first. */
function foldRows(section: Section, rows: readonly Row[], { query, summaries }: Reading): PageItem[] {
  const { open } = query;
  const keys = foldKeys(section, rows, summaries);
  const groups = new Map<string, Row[]>();
  for (const [index, row] of rows.entries()) {
    const key = keys[index];
    if (key !== undefined) addTo(groups, key, row);
  }
  return rows.flatMap((row, index): PageItem[] => {
    const key = keys[index];
    const all = key === undefined ? [row] : (groups.get(key) ?? [row]);
    const isOpenRow = ({ id }: Row): boolean => open !== undefined && id === open;
    if (key === undefined || all.length === 1) return [{ row, members: [], more: 0, isOpen: isOpenRow(row) }];
    if (all[0] !== row) return [];
    const members = firstAndOpen(all, query, isOpenRow);
    const summary = summaries.get(key);
    const isOpen = all.some(isOpenRow) || (summary !== undefined && isOpenRow(summary));
    return [{ row: summary ?? sumOf(section, all), members, more: all.length - members.length, isOpen }];
  });
}

function sectionOf(section: Section, reading: Reading): PageSection {
  const { query, isLargestFirst, isSingle } = reading;
  const { rows, unit } = section;
  const find = findOf(query).toLowerCase();
  const isLong = rows.length >= LONG;
  const isOrdered =
    isLong &&
    unit !== 'at' &&
    rows.every(({ depth = 0 }) => depth === 0) &&
    rows.some(({ number }) => number !== undefined);
  const facets = isLong ? (section.facets ?? []).map((title) => facetOf(section, title, query)) : [];
  const matching = rows.filter((row) => {
    const fits = facets.every((facet) => {
      const chosen = chosenIn(facet);
      return chosen.size === 0 || chosen.has(cellOf(section, facet.title, row));
    });
    return fits && (find === '' || !isLong || wordsOf(row).includes(find));
  });
  const items =
    isOrdered && isLargestFirst
      ? matching
          .toSorted((a, b) => (b.number ?? 0) - (a.number ?? 0))
          .map((row): PageItem => ({ row, members: [], more: 0, isOpen: row.id === query.open }))
      : isSingle
        ? matching.map((row): PageItem => ({ row, members: [], more: 0, isOpen: row.id === query.open }))
        : foldRows(section, matching, reading);
  return {
    ...section,
    items: firstAndOpen(items, query, ({ isOpen }) => isOpen),
    found: items.length,
    total: rows.length,
    matching: matching.length,
    isLong,
    isOrdered,
    facets: facets.filter(({ values }) => values.length > 1),
    isFolded: isSingle || items.some(({ members }) => members.length > 0),
    largest: Math.max(0, ...rows.map(({ number }) => number ?? 0)),
    table: section.bars === undefined ? tableOf(section) : null,
  };
}

export function rowsPage(
  { lead = [], figures = [], sections }: Presentation,
  { page, query }: { page: Query; query: Query },
): RowsPage {
  const isLargestFirst = query.order === 'largest';
  const isSingle = query.rows === 'single';
  const referred = new Set(sections.flatMap(({ rows }) => rows.map(({ within }) => within)));
  const summaries = new Map(
    sections.flatMap(({ rows }) =>
      rows.flatMap((row): [string, Row][] => (referred.has(row.id) && row.id ? [[row.id, row]] : [])),
    ),
  );
  const shown = sections
    .filter(({ inPage = true, rows, none }) => inPage && (rows.length > 0 || none !== undefined))
    .map((section) => sectionOf(section, { query, isLargestFirst, isSingle, summaries }));
  const chosen = shown.flatMap(({ facets }) =>
    facets.flatMap((facet) => [...chosenIn(facet)].map((value) => [`${facet.name}.${value}`, 1] as const)),
  );
  const link = (changes: Record<string, string | number | null>): string =>
    addressIn(page, {
      find: findOf(query),
      ...Object.fromEntries(chosen),
      order: isLargestFirst ? 'largest' : null,
      rows: isSingle ? 'single' : null,
      ...changes,
    });
  return {
    page,
    lead,
    figures,
    sections: shown,
    find: findOf(query),
    open: query.open ?? '',
    isLargestFirst,
    isSingle,
    orderHref: link({ order: isLargestFirst ? null : 'largest' }),
    singleHref: link({ rows: isSingle ? null : 'single' }),
    clearHref: addressIn(page, {}),
    allHref: link({ all: 1 }),
  };
}
