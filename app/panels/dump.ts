/** The panel of dumps: what `dump(value)` kept, with label and line. */
import type { Context } from '../profiler/context.ts';
import type { Json, Panel, PanelPage } from '../profiler/panel.ts';
import { addressOf, pageOf, round } from './shared/rows.ts';

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

/** Characters of a value that a page shows. */
const VALUE_LENGTH = 6000;

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

function present({ dumps }: DumpData, { query }: PanelPage) {
  const rows = dumps.map((dump, index) => {
    const text = typeof dump.value === 'string' ? dump.value : JSON.stringify(dump.value, null, 2);
    return { dump, id: `d${index + 1}`, length: text.length, cut: Math.max(0, text.length - VALUE_LENGTH) };
  });
  const page = pageOf(rows, { query, cost: ({ length }) => 700 + Math.min(length, VALUE_LENGTH) * 2 });
  return {
    page,
    lines: Math.ceil(VALUE_LENGTH / 40),
    firstHref: addressOf('dump', {}),
    nextHref: page.next === null ? null : addressOf('dump', { from: page.next }),
    allHref: addressOf('dump', { all: 1 }),
  };
}

export function createDumpPanel(): Panel<DumpData> {
  return {
    name: 'dump',
    title: 'Dump',
    collect,
    summary: ({ dumps }) => ({ text: String(dumps.length), tone: 'plain', count: dumps.length }),
    present,
  };
}
