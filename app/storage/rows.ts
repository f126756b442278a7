/** Index entry <-> row of `hindsight_profiles`, by the table of columns (profiler/profile-index.ts). */
import {
  type Column,
  COLUMN_ENTRIES,
  type FindingMark,
  type ProfileIndex,
} from '../profiler/profile-index.ts';
import type { QueuedProfile } from '../profiler/storage.ts';
import { storable, storableDocument } from './text.ts';

export const INDEX_COLUMNS = COLUMN_ENTRIES.map(([, { column }]) => column);

export const ROW_COLUMNS = [...INDEX_COLUMNS, 'document'];

const SQL_TYPES = {
  integer: 'integer',
  bigint: 'bigint',
  double: 'double precision',
  text: 'text',
  marks: 'text',
} as const satisfies Record<Column['type'], string>;

/** Columns with their types, for json_to_recordset. */
export const ROW_DEFINITION = [
  ...COLUMN_ENTRIES.map(([, { column, type }]) => `${column} ${SQL_TYPES[type]}`),
  'document text',
].join(', ');

/** A row by column names, as it is written. */
export type WriteRow = { token: string } & Readonly<Record<string, string | number | null>>;

/** A row as returned by `pg`, by column names; bigint as text. */
export type ProfileRow = { token: string } & Readonly<Record<string, unknown>>;

/** Limits of PostgreSQL's integer: one odd number must not make its whole batch fail. */
function whole(value: number): number {
  return Number.isFinite(value) ? Math.max(-2_147_483_648, Math.min(2_147_483_647, Math.trunc(value))) : 0;
}

/** A character before each label, which a search for a label skips. */
const SIGNS = { bad: '!', warn: '~', info: '.' } as const;

function marksText(marks: readonly FindingMark[]): string | null {
  if (marks.length === 0) return null;
  return marks.map(({ label, severity }) => SIGNS[severity] + label.replaceAll('\n', ' ')).join('\n');
}

function marksIn(text: string | null): FindingMark[] {
  if (text === null) return [];
  return text.split('\n').map((line) => ({
    label: line.slice(1),
    severity: line.startsWith(SIGNS.bad) ? 'bad' : line.startsWith(SIGNS.warn) ? 'warn' : 'info',
  }));
}

function wholeMoment(at: number): number {
  return Number.isFinite(at) ? Math.trunc(at) : 0;
}

function storedValue(value: ProfileIndex[keyof ProfileIndex], type: Column['type']): string | number | null {
  const plain = typeof value === 'object' && value !== null ? marksText(value) : value;
  if (typeof plain === 'string') return storable(plain);
  if (plain === null || type === 'double') return plain;
  return type === 'bigint' ? wholeMoment(plain) : whole(plain);
}

function readValue(value: unknown, type: Column['type']): unknown {
  if (type === 'marks') return marksIn(value as string | null);
  return type === 'bigint' && value !== null ? Number(value) : value;
}

export function writeRowOf({ index, document }: QueuedProfile): WriteRow {
  const row: Record<string, string | number | null> = {};
  for (const [name, { column, type }] of COLUMN_ENTRIES) row[column] = storedValue(index[name], type);
  return { ...row, token: storable(index.token), document: storableDocument(document) };
}

export function indexOfRow(row: ProfileRow): ProfileIndex {
  const index: Record<string, unknown> = {};
  for (const [name, { column, type }] of COLUMN_ENTRIES) index[name] = readValue(row[column], type);
  return index as ProfileIndex;
}
