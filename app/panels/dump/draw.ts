/** What the page shows besides the rows: a filter, and as many values as fit. */
import type { PanelPage } from '../../profiler/panel.ts';
import { addressOf, pageOf } from '../shared/rows.ts';
import type { DumpData } from './data.ts';
import { findOf } from '../shared/find-field.ts';

/** Maximum lines of a value's tree, and characters of a text. */
const TREE_LINES = 150;
const TEXT_LENGTH = 6000;
/** With fewer of them on a page, each may be longer. */
const LINES_OF_ALL = 400;

interface DumpRow {
  dump: DumpData['dumps'][number];
  id: string;
  /** Characters of the value as JSON. */
  length: number;
}

function holds({ dump: { label, caller, value } }: DumpRow, text: string): boolean {
  return `${label ?? ''}\n${caller ?? ''}\n${JSON.stringify(value)}`.toLowerCase().includes(text);
}

export function drawDumps({ dumps }: DumpData, { query }: PanelPage) {
  const find = findOf(query);
  const rows = dumps.map((dump, index): DumpRow => ({
    dump,
    id: `d${index + 1}`,
    length: JSON.stringify(dump.value).length,
  }));
  const found = find === '' ? rows : rows.filter((row) => holds(row, find.toLowerCase()));
  const page = pageOf(found, { query, cost: ({ length }) => 700 + Math.min(length, TEXT_LENGTH) * 3 });
  const link = (changes: Record<string, string | number | null>): string =>
    addressOf('dump', { find, ...changes });
  return {
    find,
    page,
    treeLines: Math.min(TREE_LINES, Math.ceil(LINES_OF_ALL / Math.max(1, page.rows.length))),
    textLength: TEXT_LENGTH,
    clear: link({ find: null }),
    firstHref: link({}),
    nextHref: page.next === null ? null : link({ from: page.next }),
    allHref: link({ all: 1 }),
  };
}
