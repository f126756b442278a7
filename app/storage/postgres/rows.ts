/** Row of the index <-> row of `hindsight_profiles`, by the table of columns (profiler/store/profile-index.ts). */
import { type Column, COLUMN_ENTRIES, type FindingMark } from '../../profiler/store/profile-index.ts';
import type { Row, StoreItem } from '../../profiler/store/store.ts';
import { storable, storableDocument } from '../text.ts';

const SQL_TYPES = {
  integer: 'integer',
  bigint: 'bigint',
  double: 'double precision',
  text: 'text',
  marks: 'text',
} as const satisfies Record<Column['type'], string>;

export type WrittenRow = { token: string } & Readonly<Record<string, string | number | null>>;

/** Limits of PostgreSQL's integer: one odd number must not make its whole batch fail. */
function whole(value: number): number {
  return Number.isFinite(value) ? Math.max(-2_147_483_648, Math.min(2_147_483_647, Math.trunc(value))) : 0;
}

export function wholeMoment(at: number): number {
  return Number.isFinite(at) ? Math.trunc(at) : 0;
}

/** A character before each label. */
const SIGNS = { bad: '!', warn: '~', info: '.' } as const;

export function marksText(marks: readonly FindingMark[]): string | null {
  if (marks.length === 0) return null;
  return storable(
    marks.map(({ label, severity }) => SIGNS[severity] + label.replaceAll('\n', ' ')).join('\n'),
  );
}

function marksIn(text: string | null): FindingMark[] {
  if (text === null) return [];
  return text.split('\n').map((line) => ({
    label: line.slice(1),
    severity: line.startsWith(SIGNS.bad) ? 'bad' : line.startsWith(SIGNS.warn) ? 'warn' : 'info',
  }));
}

function written(value: Row[keyof Row], type: Column['type']): string | number | null {
  if (typeof value === 'object') return value === null ? null : marksText(value);
  if (typeof value === 'string') return storable(value);
  if (type === 'double') return value;
  return type === 'bigint' ? wholeMoment(value) : whole(value);
}

export function writtenRowOf({ row, text }: StoreItem): WrittenRow {
  const values: Record<string, string | number | null> = {};
  for (const [name, { column, type }] of COLUMN_ENTRIES) values[column] = written(row[name], type);
  return { ...values, token: storable(row.token), document: storableDocument(text) };
}

export interface Selection {
  names: readonly (keyof Row)[];
  sql: string;
}

export function selectionOf(names: ReadonlySet<keyof Row>): Selection {
  const entries = COLUMN_ENTRIES.filter(([name]) => names.has(name));
  return {
    names: entries.map(([name]) => name),
    sql: entries.map(([, { column }]) => column).join(', '),
  };
}

export const ALL_COLUMNS = selectionOf(new Set(COLUMN_ENTRIES.map(([name]) => name)));

const TYPES = new Map(COLUMN_ENTRIES.map(([name, { type }]) => [name, type]));

function readValue(value: unknown, type: Column['type'] | undefined): unknown {
  if (type === 'marks') return marksIn(value as string | null);
  return type === 'bigint' && value !== null ? Number(value) : value;
}

export function rowOf({ names }: Selection, values: readonly unknown[]): Row {
  const row: Partial<Record<keyof Row, unknown>> = {};
  for (const [place, name] of names.entries()) row[name] = readValue(values[place], TYPES.get(name));
  return row as Row;
}

/** A version of the same request replaces an earlier one, but a running one replaces none. Returns the tokens that were written. */
export function insertInto(table: string): string {
  const columns = [...COLUMN_ENTRIES.map(([, { column }]) => column), 'document'];
  const definition = [
    ...COLUMN_ENTRIES.map(([, { column, type }]) => `${column} ${SQL_TYPES[type]}`),
    'document text',
  ];
  const replaced = columns.map((column) => `${column} = excluded.${column}`);
  return `insert into ${table} as stored (${columns.join(', ')})
    select ${columns.join(', ')} from json_to_recordset($1::json) as batch (${definition.join(', ')})
    on conflict (token) do update set ${replaced.join(', ')}
    where stored.process = excluded.process and stored.started_at = excluded.started_at
      and (stored.state = 'running' or excluded.state <> 'running')
    returning token`;
}
