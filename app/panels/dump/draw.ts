/** What the page shows besides the rows: a filter. */
import type { PanelPage } from '../../profiler/panel.ts';
import { addressOf } from '../shared/rows.ts';
import { firstRows } from '../../render/rows-page.ts';
import type { DumpData } from './data.ts';
import { findOf } from '../shared/find-field.ts';

/** Maximum lines of a value's tree, and characters of a text. */
const TREE_LINES = 150;
const TEXT_LENGTH = 6000;

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
  const link = (changes: Record<string, string | number | null>): string =>
    addressOf('dump', { find, ...changes });
  return {
    find,
    rows: firstRows(found, query),
    total: found.length,
    treeLines: TREE_LINES,
    textLength: TEXT_LENGTH,
    clear: link({ find: null }),
    allHref: link({ all: 1 }),
  };
}
