/**
 * The format of a segment: two files. `<name>.rows` has a header and then one entry a line; `<name>.texts` has the texts of its records
 * and late facts, one after the other. A line of the first begins with the checksum of the rest, so that a line that was cut off or
 * damaged is skipped. Entries name a text by its place, length and checksum.
 */
import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { parseJson } from '../../profiler/json.ts';
import { COLUMN_ENTRIES } from '../../profiler/store/profile-index.ts';
import { isSummary } from '../../profiler/store/query-rows.ts';
import type { Row, RowLabels } from '../../profiler/store/store.ts';
import type { Disk } from './disk.ts';

/** Of segments and of the records in them; segments with another number are skipped. */
const FORMAT = 3;

/**
 * What a segment holds: each has limits of its own, and a whole segment is deleted at once. `full`: full records. `summary`: summaries.
 * `own`: the profiler's own pages. `exception`: copies of what outlives its segment.
 */
export const SEGMENT_KINDS = ['full', 'summary', 'own', 'exception'] as const;
export type SegmentKind = (typeof SEGMENT_KINDS)[number];

export interface Header {
  format: number;
  project: string;
  script: string;
  pid: number;
  thread: number;
  startedAt: number;
  columns: readonly string[];
  /** What protects the pages of its process, hashed; null: nothing. */
  guard: string | null;
}

export interface TextPlace {
  from: number;
  size: number;
  sum: number;
}

export type Entry =
  | ({ type: 'record'; at: number; row: Row } & TextPlace)
  | ({ type: 'fact'; at: number; token: string; name: string } & TextPlace)
  | { type: 'label'; at: number; token: string; labels: RowLabels }
  | { type: 'end' };

export interface Tally {
  records: number;
  oldestStart: number;
  newestStart: number;
  newestAt: number;
  blocks: Set<string>;
  tokens: Set<string>;
}

export function emptyTally(): Tally {
  return {
    records: 0,
    oldestStart: Infinity,
    newestStart: 0,
    newestAt: 0,
    blocks: new Set(),
    tokens: new Set(),
  };
}

export function countEntry(tally: Tally, kind: SegmentKind, entry: Entry): void {
  if (entry.type !== 'record') return;
  const { at, row } = entry;
  tally.records++;
  tally.oldestStart = Math.min(tally.oldestStart, row.startedAt);
  tally.newestStart = Math.max(tally.newestStart, row.startedAt);
  tally.newestAt = Math.max(tally.newestAt, at);
  tally.blocks.add(row.token.slice(0, 3));
  if (kind === 'exception') tally.tokens.add(row.token);
}

export const ROWS = '.rows';
export const TEXTS = '.texts';

const NAMES = COLUMN_ENTRIES.map(([name]) => name);
const SEGMENT_NAME = /^(full|summary|own|exception)-[0-9a-z]{9}-[0-9a-f]{12}$/;

export function momentName(at: number): string {
  return Math.max(0, at).toString(36).padStart(9, '0');
}

/** `at`: later than those that the process made before, because the segments of a kind are deleted in the order of their names. */
export function newSegmentName(kind: SegmentKind, at: number): string {
  return `${kind}-${momentName(at)}-${randomBytes(6).toString('hex')}`;
}

export function segmentKindOf(name: string): SegmentKind | null {
  return (SEGMENT_NAME.exec(name)?.[1] as SegmentKind | undefined) ?? null;
}

export function kindOfRow(row: Row): SegmentKind {
  if (row.kind === 'profiler') return 'own';
  return isSummary(row) ? 'summary' : 'full';
}

export function checksum(bytes: Uint8Array | string): number {
  return crc32(bytes);
}

function lineOf(json: string): string {
  return `${checksum(json).toString(16).padStart(8, '0')} ${json}\n`;
}

export function headerLine(header: Omit<Header, 'format' | 'columns'>): string {
  return lineOf(JSON.stringify({ format: FORMAT, ...header, columns: NAMES }));
}

export function entryLine(entry: Entry): string {
  if (entry.type !== 'record') return lineOf(JSON.stringify(entry));
  const { type, at, row, from, size, sum } = entry;
  return lineOf(JSON.stringify({ type, at, row: NAMES.map((name) => row[name]), from, size, sum }));
}

function jsonIn(line: string): unknown {
  if (line.length < 10 || line[8] !== ' ') return undefined;
  const json = line.slice(9);
  return parseInt(line.slice(0, 8), 16) === checksum(json) ? parseJson(json) : undefined;
}

export function headerIn(line: string): Header | null {
  const header = jsonIn(line) as Partial<Header> | null | undefined;
  return header?.format === FORMAT && Array.isArray(header.columns) ? (header as Header) : null;
}

export function entryIn(line: string, { columns }: Header): Entry | null {
  const entry = jsonIn(line) as Entry | null | undefined;
  if (entry === undefined || entry === null) return null;
  if (entry.type !== 'record') return entry;
  const values = entry.row as unknown as unknown[];
  const row: Record<string, unknown> = {};
  for (const [place, name] of columns.entries()) row[name] = values[place];
  // Columns that are newer than the file.
  for (const name of NAMES) row[name] ??= null;
  return { ...entry, row: row as Row };
}

/** Entries of a file of rows; none if it is gone, or of another format. */
export async function readEntries(disk: Disk, file: string): Promise<Entry[]> {
  const state = await disk.state(file);
  if (state === null) return [];
  const bytes = await disk.read(file, 0, state.size);
  const [first = '', ...lines] = bytes.toString('utf8', 0, bytes.lastIndexOf(10) + 1).split('\n');
  const header = headerIn(first);
  return header === null ? [] : lines.flatMap((line) => entryIn(line, header) ?? []);
}

export async function readText(
  disk: Disk,
  name: string,
  { from, size, sum }: TextPlace,
): Promise<string | null> {
  const bytes = await disk.read(name + TEXTS, from, size);
  return checksum(bytes) === sum ? bytes.toString() : null;
}
