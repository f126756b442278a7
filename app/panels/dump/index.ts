/** The panel of dumps: values passed to `dump(value)`, with label and line. */
import type { FactReader } from '../../profiler/recorded-facts.ts';
import type { Panel } from '../../profiler/panel.ts';
import type { Presentation } from '../../profiler/rows.ts';
import { round } from '../shared/rows.ts';
import type { DumpData } from './data.ts';
import { drawDumps } from './draw.ts';

function dataOf(record: FactReader): DumpData | null {
  const facts = record.all('dump');
  if (facts.length === 0) return null;
  return {
    dumps: facts.map((fact) => ({ ...fact, atMs: round(fact.atMs) })),
  };
}

function present({ dumps }: DumpData): Presentation {
  return {
    sections: [
      {
        id: 'dumps',
        title: 'Values',
        unit: 'at',
        columns: { label: 'Label', text: 'Value', place: 'Dumped at' },
        card: 'in order',
        rows: dumps.map(({ value, label, type, caller, atMs }, index) => ({
          id: `d${index + 1}`,
          ...(label === null ? {} : { label }),
          text: value,
          number: atMs,
          place: caller,
          fields: [{ label: 'Type', value: type }],
        })),
      },
    ],
  };
}

export const dumpPanel: Panel<DumpData> = {
  name: 'dump',
  title: 'Dump',
  key: 'p',
  toolbar: { rank: 50 },
  searched: ['value', 'label'],
  facts: { dump: 'dumped values' },
  reads: ['dump'],
  data: dataOf,
  summary: ({ dumps }) => ({ text: String(dumps.length), tone: 'plain', count: dumps.length }),
  empty: () => ({
    what: 'Nothing was dumped.',
    why: 'dump(value, label) copies any value to this panel and returns it. It never shows in the response.',
  }),
  present,
  draw: drawDumps,
};
