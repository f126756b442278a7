/** The panel of dumps: what `dump(value)` kept, with label and line. */
import type { Context } from '../../profiler/context.ts';
import type { Json, Panel, PanelPage, PanelPreview } from '../../profiler/panel.ts';
import { firstRows, noteOf } from '../shared/preview.ts';
import { addressOf, pageOf, round } from '../shared/rows.ts';

export interface DumpEntry {
  value: Json;
  label: string | null;
  type: string;
  caller: string | null;
  atMs: number;
}

export interface DumpData {
  dumps: DumpEntry[];
}

/** Lines of a value's tree that a page shows, and characters of one that is a text. */
const TREE_LINES = 150;
const TEXT_LENGTH = 6000;
/** With fewer of them on a page, each may be longer. */
const LINES_OF_ALL = 400;
const LONGEST_FIND = 200;

function collect(context: Context): DumpData | null {
  const facts = context.all('dump');
  if (facts.length === 0) return null;
  return {
    dumps: facts.map(({ value, label, type, caller, atMs }) => ({
      value,
      label,
      type,
      caller,
      atMs: round(atMs),
    })),
  };
}

interface DumpRow {
  dump: DumpEntry;
  id: string;
  /** Characters of the value as JSON. */
  length: number;
}

function holds({ dump: { label, caller, value } }: DumpRow, text: string): boolean {
  return `${label ?? ''}\n${caller ?? ''}\n${JSON.stringify(value)}`.toLowerCase().includes(text);
}

function present({ dumps }: DumpData, { query }: PanelPage) {
  const find = (query.find ?? '').slice(0, LONGEST_FIND);
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

/** Characters of a value on the toolbar. */
const PREVIEW_LENGTH = 300;

function preview({ dumps }: DumpData): PanelPreview {
  return firstRows(
    dumps.map((dump, index) => ({ dump, index })),
    ({ dump: { value, label, caller }, index }) => ({
      text: noteOf(label, JSON.stringify(value).slice(0, PREVIEW_LENGTH)),
      note: noteOf(caller),
      row: `d${index + 1}`,
    }),
  );
}

export function createDumpPanel(): Panel<DumpData> {
  return {
    name: 'dump',
    title: 'Dump',
    key: 'p',
    toolbar: { rank: 50 },
    searched: ['value', 'label'],
    collect,
    summary: ({ dumps }) => ({ text: String(dumps.length), tone: 'plain', count: dumps.length }),
    draw: present,
    preview,
  };
}
