/** A panel of a profile -> its rows; a panel that fails is shown as its data. */
import type { Panel, PresentFrom } from '../profiler/panel.ts';
import { jsonBlock, type Presentation, type Row, type Section } from '../profiler/read/rows.ts';
import type { Json } from '../profiler/json.ts';

const LONGEST_CELL = 120;
const MOST_COLUMNS = 12;

type Named = Record<string, Json>;

function isScalar(value: unknown): boolean {
  return typeof value !== 'object' || value === null;
}

function isFlat(value: unknown): value is Named {
  if (isScalar(value) || Array.isArray(value)) return false;
  return Object.values(value as object).every(
    (inner) => isScalar(inner) || JSON.stringify(inner).length <= LONGEST_CELL,
  );
}

function titleOf(name: string): string {
  const words = name
    .replace(/[_-]+/g, ' ')
    .replace(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function asJson(value: unknown): Row[] {
  return [{ block: jsonBlock(value) }];
}

function listRows(values: readonly Json[]): Row[] {
  if (values.every(isScalar)) return values.map((text) => ({ text }));
  const names = new Set(values.flatMap((value) => (isFlat(value) ? Object.keys(value) : [])));
  if (!values.every(isFlat) || names.size > MOST_COLUMNS) return asJson(values);
  return values.map((row) => ({
    fields: Array.from(names, (name) => ({ label: titleOf(name), value: row[name] })),
  }));
}

function sectionOf([name, value]: readonly [string, Json], index: number): Section {
  const rows = Array.isArray(value)
    ? listRows(value)
    : isFlat(value)
      ? Object.entries(value).map(([label, text]) => ({ label, text }))
      : asJson(value);
  return { id: `data-${index + 1}`, title: titleOf(name), rows };
}

export function rowsOfData(data: unknown): Presentation {
  if (Array.isArray(data)) return { sections: [sectionOf(['rows', data as Json[]], 0)] };
  if (isScalar(data)) return { sections: [{ id: 'data', title: 'Data', rows: [{ text: data as Json }] }] };
  const fields = Object.entries(data as Named);
  const single = fields.filter(([, value]) => isScalar(value) && value !== null && value !== '');
  const nested = fields.filter(([, value]) => !isScalar(value));
  return {
    sections: [
      {
        id: 'data',
        title: 'Data',
        rows: single.map(([name, text]) => ({ label: titleOf(name), text })),
      },
      ...nested.map(sectionOf),
    ],
  };
}

export function presentPanel(panel: Panel, from: PresentFrom): Presentation | null {
  const data = from.profile.panels[panel.name]?.data ?? null;
  if (data === null) return null;
  try {
    return panel.rows?.(data, from) ?? rowsOfData(data);
  } catch {
    // Stored by another version, or a panel of the host's own that fails.
    return rowsOfData(data);
  }
}

/** Of the panel with this name; without rows if the profile or the application has none. */
export function presentNamed(panels: readonly Panel[], name: string, from: PresentFrom): Presentation {
  const panel = panels.find((one) => one.name === name);
  return (panel === undefined ? null : presentPanel(panel, from)) ?? { sections: [] };
}
