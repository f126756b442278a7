/** The columns of `hindsight_profiles`, in one order for writing and reading: index entry <-> row. */
import type { FindingMark, ProfileIndex } from '../profiler/profile.ts';
import type { QueuedProfile } from '../profiler/storage.ts';
import { headOf } from './copy-csv.ts';
import { storable } from './text.ts';

export const INDEX_COLUMNS = [
  'token', 'kind', 'state', 'parent', 'child', 'method', 'url', 'origin', 'status', 'route', 'client_address',
  'started_at', 'duration_ms', 'process', 'error', 'queries', 'findings', 'mark', 'bytes',
  'marks', 'location', 'referrer', 'dest',
] as const; // prettier-ignore

export const COLUMNS = [...INDEX_COLUMNS, 'document'] as const;

export type ColumnValue = string | number | null;

/** A profile made ready for COPY, with what says whether it may be written. */
export interface WriteRow {
  token: string;
  /** As it is stored: whole milliseconds since 1970. */
  startedAt: number;
  /** As it is stored. */
  process: string;
  final: boolean;
  /** The row up to its document. */
  head: string;
  /** The document. */
  bytes: Uint8Array;
}

/** A row as `pg` gives it: bigint as text. */
export interface ProfileRow {
  token: string;
  kind: ProfileIndex['kind'];
  state: ProfileIndex['state'];
  parent: string | null;
  child: string | null;
  method: string;
  url: string;
  origin: string | null;
  status: number | null;
  route: string | null;
  client_address: string;
  started_at: string;
  duration_ms: number | null;
  process: string;
  error: string | null;
  queries: number;
  findings: number;
  mark: string | null;
  bytes: number;
  /** A line for each: the sign of its severity, and its label. */
  marks: string | null;
  location: string | null;
  referrer: string | null;
  dest: string | null;
}

/** PostgreSQL's integer; one odd number must not cost its whole batch. */
function whole(value: number): number {
  return Number.isFinite(value) ? Math.max(-2_147_483_648, Math.min(2_147_483_647, Math.trunc(value))) : 0;
}

/** A sign before each label, which a search for a label does not meet. */
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

function startOf({ startedAt }: ProfileIndex): number {
  return Number.isFinite(startedAt) ? Math.trunc(startedAt) : 0;
}

/** Values in the order of INDEX_COLUMNS. */
function valuesOf(index: ProfileIndex): ColumnValue[] {
  return [
    index.token,
    index.kind,
    index.state,
    index.parent,
    index.child,
    index.method,
    index.url,
    index.origin,
    index.status === null ? null : whole(index.status),
    index.route,
    index.clientAddress,
    startOf(index),
    index.durationMs,
    index.process,
    index.error,
    whole(index.queries),
    whole(index.findings),
    index.mark,
    whole(index.bytes),
    marksText(index.marks),
    index.location,
    index.referrer,
    index.dest,
  ];
}

export function writeRowOf({ index, bytes }: QueuedProfile): WriteRow {
  return {
    token: storable(index.token),
    startedAt: startOf(index),
    process: storable(index.process),
    final: index.state === 'final',
    head: headOf(valuesOf(index)),
    bytes,
  };
}

export function indexOfRow(row: ProfileRow): ProfileIndex {
  return {
    token: row.token,
    kind: row.kind,
    state: row.state,
    parent: row.parent,
    child: row.child,
    method: row.method,
    url: row.url,
    origin: row.origin,
    status: row.status,
    route: row.route,
    clientAddress: row.client_address,
    startedAt: Number(row.started_at),
    durationMs: row.duration_ms,
    process: row.process,
    error: row.error,
    queries: row.queries,
    findings: row.findings,
    mark: row.mark,
    bytes: row.bytes,
    marks: marksIn(row.marks),
    location: row.location,
    referrer: row.referrer,
    dest: row.dest,
  };
}
