/** Rows -> the compared parts of a profile: figures, work with its number of runs, and named values. */
import {
  addUpWork,
  type Comparable,
  type ComparedFigure,
  type ComparedValue,
  type ComparedWork,
} from '../profiler/read/comparable.ts';
import { withoutNumbers } from '../profiler/masking/redact.ts';
import type { Presentation, Row, Section } from '../profiler/read/rows.ts';
import { valueText } from '../view-helpers/amount.ts';

const LONGEST = 300;
const LONGEST_MARK = 24;
const MOST_RUNS = 5;
const UNITS = { ms: 'ms', at: 'ms', bytes: 'bytes', count: 'count', share: 'count', time: 'count' } as const;

function shorten(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line;
}

function figuresOf({ figures = [] }: Presentation): ComparedFigure[] {
  return figures.flatMap(({ label, value, unit = 'count', compare, measured }): ComparedFigure[] =>
    compare === undefined || typeof value !== 'number'
      ? []
      : [
          {
            label,
            value,
            unit: UNITS[unit],
            ...(compare === 'cost' ? { cost: true } : {}),
            ...(measured === undefined ? {} : { measured }),
          },
        ],
  );
}

function workOf({ title, unit = 'ms', rows }: Section): ComparedWork[] {
  return rows.flatMap(({ key: recorded, tokens, number, times = 1, badges = [] }): ComparedWork[] => {
    if (recorded === undefined) return [];
    const key = withoutNumbers(recorded);
    const mark = badges[0]?.slice(0, LONGEST_MARK);
    return [
      {
        section: title,
        key,
        label: shorten(key),
        ...(tokens === undefined ? {} : { tokens }),
        times,
        ms: unit === 'ms' ? (number ?? null) : null,
        ...(mark === undefined ? {} : { mark }),
      },
    ];
  });
}

function valuesOf({ values, rows }: Section): ComparedValue[] {
  if (values === undefined) return [];
  const seen = new Map<string, number>();
  return rows.flatMap(({ label = '', text, note, varies }: Row): ComparedValue[] => {
    if (varies) return [];
    const key = label.toLowerCase();
    const before = seen.get(key) ?? 0;
    seen.set(key, before + 1);
    return [
      {
        section: values,
        name: before === 0 ? label : `${label} (${before + 1})`,
        value: withoutNumbers(text === undefined ? (note ?? '') : valueText(text)),
      },
    ];
  });
}

function fieldValuesOf({ rows }: Section): ComparedValue[] {
  const seen = new Map<string, number>();
  return rows.flatMap(({ text, fields = [] }): ComparedValue[] => {
    const compared = fields.filter((field) => field.compared === true);
    if (compared.length === 0) return [];
    const name = shorten(withoutNumbers(valueText(text ?? '')));
    const run = (seen.get(name) ?? 0) + 1;
    seen.set(name, run);
    if (run > MOST_RUNS) return [];
    return compared.flatMap(({ label, value }) =>
      value === null || value === undefined
        ? []
        : [
            {
              section: label.toLowerCase(),
              name: run === 1 ? name : `${name} (${run})`,
              value: withoutNumbers(valueText(value)),
            },
          ],
    );
  });
}

export function rowsComparable(presentation: Presentation): Comparable {
  const { sections } = presentation;
  return {
    figures: figuresOf(presentation),
    work: addUpWork(sections.flatMap(workOf)),
    values: sections.flatMap((section) => [...valuesOf(section), ...fieldValuesOf(section)]),
  };
}
