/** Index entry <-> row of `hindsight_profiles`, by the table of columns (profiler/profile-index.ts). */
import {
  type Column,
  COLUMN_ENTRIES,
  type FindingMark,
  type ProfileIndex,
} from '../profiler/profile-index.ts';
import type { QueuedProfile } from '../profiler/storage.ts';
import { type ColumnValue, headOf } from './copy-csv.ts';
import { storable } from './text.ts';

export const INDEX_COLUMNS = COLUMN_ENTRIES.map(([, { column }]) => column);

export const ROW_COLUMNS = [...INDEX_COLUMNS, 'document'];

/** A profile prepared for COPY, with the fields that decide whether it is written. */
export interface WriteRow {
  token: string;
  /** Whole milliseconds since 1970. */
  startedAt: number;
  /** As stored. */
  process: string;
  final: boolean;
  /** The row without its document. */
  head: string;
  /** The document. */
  bytes: Uint8Array;
}

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

/** A value of an index row for COPY. */
function storedValue(value: ProfileIndex[keyof ProfileIndex], type: Column['type']): ColumnValue {
  if (typeof value === 'object') return value === null ? null : marksText(value);
  if (typeof value === 'string' || type === 'double') return value;
  return type === 'bigint' ? wholeMoment(value) : whole(value);
}

function readValue(value: unknown, type: Column['type']): unknown {
  if (type === 'marks') return marksIn(value as string | null);
  return type === 'bigint' && value !== null ? Number(value) : value;
}

export function writeRowOf({ index, bytes }: QueuedProfile): WriteRow {
  return {
    token: storable(index.token),
    startedAt: wholeMoment(index.startedAt),
    process: storable(index.process),
    final: index.state === 'final',
    head: headOf(COLUMN_ENTRIES.map(([name, { type }]) => storedValue(index[name], type))),
    bytes,
  };
}

export function indexOfRow(row: ProfileRow): ProfileIndex {
  const index: Record<string, unknown> = {};
  for (const [name, { column, type }] of COLUMN_ENTRIES) index[name] = readValue(row[column], type);
  return index as ProfileIndex;
}
