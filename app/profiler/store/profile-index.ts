/**
 * The columns beside a stored document: what lists show, filter and sort by. A new column is a line of `indexOf`, a row of COLUMNS, and
 * a migration; it needs a cell in views/partials/request-row.ejs only if it looks special.
 */
import { errorText } from '../error-text.ts';
import type { Finding, Severity } from '../read/finding.ts';
import type { ProfileDocument } from '../profile.ts';
import type { NavigationHints } from '../record/navigation-hints.ts';

export interface SummaryFacts {
  contentType: string | null;
  /** As announced by its Content-Length; null if it had none. */
  bytes: number | null;
  /** Name of the route's handler, and where it was registered; null if unknown. */
  handler: string | null;
  source: string | null;
}

export interface FindingMark {
  label: string;
  severity: Severity;
}

/** Where the values come from. Take text from `document`, `navigationHints` and `facts` only: facts of the context are not masked. */
export interface IndexSource {
  document: ProfileDocument;
  /** null: nobody has asked for them yet. */
  findings: readonly Finding[] | null;
  queries: number;
  navigationHints: NavigationHints | null;
  /** Masked; null if it is recorded in full, absent if a profile is read back from its document. */
  facts?: SummaryFacts | null;
  /** Masked; null or absent if it was made up. */
  requestId?: string | null;
}

/** Types of the database by values: `marks` are lines of text. */
type TypeOf<Value> = Value extends readonly FindingMark[]
  ? 'marks'
  : Value extends string | null
    ? 'text'
    : 'integer' | 'bigint' | 'double';

export interface Column {
  column: string;
  type: 'text' | 'integer' | 'bigint' | 'double' | 'marks';
  list?: ListCell;
}

/** The list shows the columns in the order of COLUMNS. */
export interface ListCell {
  heading: string;
  css: string;
  numeric?: true;
  look?: 'mono' | 'quiet';
  /** View helper that shows the value; absent: as text. request-row.ejs has cells for URL, route and time. */
  helper?: 'status' | 'method' | 'count' | 'clock' | 'bytes' | 'foreign';
  sort?: string;
}

const LONGEST_TEXT = 2000;
export const MARKS_KEPT = 3;

function marksOf(findings: readonly Finding[]): FindingMark[] {
  const marks: FindingMark[] = [];
  for (const { label, severity } of findings) {
    if (marks.length === MARKS_KEPT) break;
    if (!marks.some((mark) => mark.label === label)) marks.push({ label: label.slice(0, 60), severity });
  }
  return marks;
}

/** Well-formed, because addresses and databases hold no half of a surrogate pair, and a cut may leave one. */
function cutText<Text extends string | null>(text: Text, longest = LONGEST_TEXT): Text {
  return (text === null ? null : text.slice(0, longest).toWellFormed()) as Text;
}

function textOfError(error: ProfileDocument['error']): string | null {
  return error === undefined || error === null ? null : errorText(error).slice(0, LONGEST_TEXT);
}

interface KeptResponse {
  response?: { bytes?: number | null };
}

interface KeptBlocks {
  blocks?: readonly { durationMs: number }[];
}

function blockedMsOf({ panels }: ProfileDocument): number | null {
  const kept = panels.runtime?.data as KeptBlocks | null | undefined;
  return kept ? (kept.blocks ?? []).reduce((sum, { durationMs }) => sum + durationMs, 0) : null;
}

/** Written out, because V8 turns an object that is filled by name into a dictionary, which each reader pays for. */
export function indexOf({ document, findings, queries, navigationHints, facts, requestId }: IndexSource) {
  const { request } = document.panels;
  return {
    status: document.status ?? null,
    method: cutText(document.method, 64),
    url: cutText(document.url),
    route: cutText(document.route ?? null),
    durationMs: document.durationMs ?? null,
    queries,
    startedAt: document.startedAt,
    process: document.process.slice(0, 200),
    token: document.token,
    kind: document.kind,
    state: document.state,
    parent: document.parent ?? null,
    child: document.child ?? null,
    origin: cutText(document.origin ?? null),
    clientAddress: document.clientAddress.slice(0, 64),
    /** Name and message of what was thrown; null if nothing was. */
    error: textOfError(document.error),
    findings: findings?.length ?? null,
    mark: findings?.[0]?.label ?? null,
    marks: marksOf(findings ?? []),
    location: navigationHints?.location ?? null,
    referrer: navigationHints?.referrer ?? null,
    dest: navigationHints?.dest ?? null,
    /** How a request ended that did not finish; null: it finished. */
    outcome: document.outcome ?? null,
    /** As received; null if it was made up. */
    requestId: cutText(requestId ?? null, 200),
    /** Of a summary only, as the handler below. */
    contentType: cutText(facts?.contentType ?? null, 200),
    /** Length of the response's body, or of a summary as announced; null if there was none. */
    responseBytes:
      (request?.data as KeptResponse | null | undefined)?.response?.bytes ?? facts?.bytes ?? null,
    /** Name of the route's handler, and where it was registered. */
    handler: cutText(facts?.handler ?? null),
    handlerPlace: cutText(facts?.source ?? null),
    /** How long the event loop was blocked during the request; null if that was not watched. */
    blockedMs: blockedMsOf(document),
    /** Name of the release that responded; null if it is unknown. */
    release: document.release ?? null,
    summary: document.summary ?? null,
    /** 32 hexadecimal digits; null if it is not part of a trace. */
    traceId: document.trace?.traceId ?? null,
    /** The caller's span (trace-context.ts); null if the trace begins with it. */
    callerSpan: document.trace?.parentId ?? null,
    /** Length of the document in bytes, known once it is queued; 0: a summary, which has none. */
    bytes: 0,
  };
}

export type ProfileIndex = ReturnType<typeof indexOf>;

const COLUMNS = {
  status: {
    column: 'status',
    type: 'integer',
    list: { heading: 'Status', css: 'c-st', helper: 'status', sort: 'status' },
  },
  method: {
    column: 'method',
    type: 'text',
    list: { heading: 'Method', css: 'c-me', helper: 'method', sort: 'method' },
  },
  url: { column: 'url', type: 'text', list: { heading: 'URL', css: 'url', sort: 'url' } },
  route: { column: 'route', type: 'text', list: { heading: 'Route', css: 'c-rt', sort: 'route' } },
  durationMs: {
    column: 'duration_ms',
    type: 'double',
    list: { heading: 'Time', css: 'c-du', numeric: true, sort: 'time' },
  },
  queries: {
    column: 'queries',
    type: 'integer',
    list: { heading: 'Queries', css: 'c-qu', numeric: true, helper: 'count', sort: 'queries' },
  },
  startedAt: {
    column: 'started_at',
    type: 'bigint',
    list: { heading: 'At', css: 'c-at', numeric: true, helper: 'clock', sort: 'at' },
  },
  process: {
    column: 'process',
    type: 'text',
    list: { heading: 'Process', css: 'c-pr', look: 'quiet', helper: 'foreign', sort: 'process' },
  },
  token: { column: 'token', type: 'text', list: { heading: 'Token', css: 'c-to', look: 'mono' } },
  kind: { column: 'kind', type: 'text' },
  state: { column: 'state', type: 'text' },
  parent: { column: 'parent', type: 'text' },
  child: { column: 'child', type: 'text' },
  origin: { column: 'origin', type: 'text' },
  clientAddress: { column: 'client_address', type: 'text' },
  error: { column: 'error', type: 'text' },
  findings: { column: 'findings', type: 'integer' },
  mark: { column: 'mark', type: 'text' },
  marks: { column: 'marks', type: 'marks' },
  location: { column: 'location', type: 'text' },
  referrer: { column: 'referrer', type: 'text' },
  dest: { column: 'dest', type: 'text' },
  outcome: { column: 'outcome', type: 'text' },
  requestId: { column: 'request_id', type: 'text' },
  contentType: { column: 'content_type', type: 'text' },
  responseBytes: { column: 'response_bytes', type: 'bigint' },
  handler: { column: 'handler', type: 'text' },
  handlerPlace: { column: 'handler_place', type: 'text' },
  blockedMs: { column: 'blocked_ms', type: 'double' },
  release: { column: 'release', type: 'text' },
  summary: { column: 'summary', type: 'text' },
  traceId: { column: 'trace_id', type: 'text' },
  callerSpan: { column: 'caller_span', type: 'text' },
  bytes: { column: 'bytes', type: 'integer' },
} satisfies { [Name in keyof ProfileIndex]: Column & { type: TypeOf<ProfileIndex[Name]> } };

type Columns = typeof COLUMNS;

/** The columns that the list can be sorted by. */
export type SortColumn = {
  [Name in keyof Columns]: Columns[Name] extends { list: { sort: string } } ? Name : never;
}[keyof Columns];

export const COLUMN_ENTRIES: readonly (readonly [keyof ProfileIndex, Column])[] = Object.entries(COLUMNS) as [
  keyof ProfileIndex,
  Column,
][];

/** Column by the name of the order. */
export const SORTS: Readonly<Record<string, SortColumn>> = Object.fromEntries(
  COLUMN_ENTRIES.flatMap(([name, { list }]) =>
    list?.sort === undefined ? [] : [[list.sort, name as SortColumn]],
  ),
);

export function labelsOf(findings: readonly Finding[]): Pick<ProfileIndex, 'findings' | 'mark' | 'marks'> {
  return { findings: findings.length, mark: findings[0]?.label ?? null, marks: marksOf(findings) };
}
