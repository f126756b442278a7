/**
 * The columns beside a stored document: what lists show, filter and sort by. A new column is a row of COLUMNS, its line in `indexOf`, and
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

/** Where a column's value comes from. Take text from `document`, `navigationHints` and `facts` only: facts of the context are not masked. */
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
type Stored =
  | { type: 'text'; of: (source: IndexSource) => string | null }
  | { type: 'integer' | 'bigint' | 'double'; of: (source: IndexSource) => number | null }
  | { type: 'marks'; of: (source: IndexSource) => readonly FindingMark[] };

export type Column = Stored & {
  column: string;
  list?: ListCell;
};

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

const COLUMNS = {
  status: {
    column: 'status',
    type: 'integer',
    of: ({ document }) => document.status ?? null,
    list: { heading: 'Status', css: 'c-st', helper: 'status', sort: 'status' },
  },
  method: {
    column: 'method',
    type: 'text',
    of: ({ document }) => cutText(document.method, 64),
    list: { heading: 'Method', css: 'c-me', helper: 'method', sort: 'method' },
  },
  url: {
    column: 'url',
    type: 'text',
    of: ({ document }) => cutText(document.url),
    list: { heading: 'URL', css: 'url', sort: 'url' },
  },
  route: {
    column: 'route',
    type: 'text',
    of: ({ document }) => cutText(document.route ?? null),
    list: { heading: 'Route', css: 'c-rt', sort: 'route' },
  },
  durationMs: {
    column: 'duration_ms',
    type: 'double',
    of: ({ document }) => document.durationMs ?? null,
    list: { heading: 'Time', css: 'c-du', numeric: true, sort: 'time' },
  },
  queries: {
    column: 'queries',
    type: 'integer',
    of: ({ queries }) => queries,
    list: { heading: 'Queries', css: 'c-qu', numeric: true, helper: 'count', sort: 'queries' },
  },
  startedAt: {
    column: 'started_at',
    type: 'bigint',
    of: ({ document }) => document.startedAt,
    list: { heading: 'At', css: 'c-at', numeric: true, helper: 'clock', sort: 'at' },
  },
  process: {
    column: 'process',
    type: 'text',
    of: ({ document }) => document.process.slice(0, 200),
    list: { heading: 'Process', css: 'c-pr', look: 'quiet', helper: 'foreign', sort: 'process' },
  },
  token: {
    column: 'token',
    type: 'text',
    of: ({ document }) => document.token,
    list: { heading: 'Token', css: 'c-to', look: 'mono' },
  },
  kind: { column: 'kind', type: 'text', of: ({ document }) => document.kind },
  state: { column: 'state', type: 'text', of: ({ document }) => document.state },
  parent: { column: 'parent', type: 'text', of: ({ document }) => document.parent ?? null },
  child: { column: 'child', type: 'text', of: ({ document }) => document.child ?? null },
  origin: {
    column: 'origin',
    type: 'text',
    of: ({ document }) => cutText(document.origin ?? null),
  },
  clientAddress: {
    column: 'client_address',
    type: 'text',
    of: ({ document }) => document.clientAddress.slice(0, 64),
  },
  /** Name and message of what was thrown; null if nothing was. */
  error: { column: 'error', type: 'text', of: ({ document }) => textOfError(document.error) },
  findings: { column: 'findings', type: 'integer', of: ({ findings }) => findings?.length ?? null },
  mark: { column: 'mark', type: 'text', of: ({ findings }) => findings?.[0]?.label ?? null },
  marks: { column: 'marks', type: 'marks', of: ({ findings }) => marksOf(findings ?? []) },
  location: {
    column: 'location',
    type: 'text',
    of: ({ navigationHints }) => navigationHints?.location ?? null,
  },
  referrer: {
    column: 'referrer',
    type: 'text',
    of: ({ navigationHints }) => navigationHints?.referrer ?? null,
  },
  dest: { column: 'dest', type: 'text', of: ({ navigationHints }) => navigationHints?.dest ?? null },
  /** How a request ended that did not finish; null: it finished. */
  outcome: { column: 'outcome', type: 'text', of: ({ document }) => document.outcome ?? null },
  /** As received; null if it was made up. */
  requestId: {
    column: 'request_id',
    type: 'text',
    of: ({ requestId }) => cutText(requestId ?? null, 200),
  },
  /** Of a summary only, as the handler below. */
  contentType: {
    column: 'content_type',
    type: 'text',
    of: ({ facts }) => cutText(facts?.contentType ?? null, 200),
  },
  /** Length of the response's body, or of a summary as announced; null if there was none. */
  responseBytes: {
    column: 'response_bytes',
    type: 'bigint',
    of: ({ document, facts }) =>
      (document.panels.request?.data as KeptResponse | null | undefined)?.response?.bytes ??
      facts?.bytes ??
      null,
  },
  /** Name of the route's handler, and where it was registered. */
  handler: { column: 'handler', type: 'text', of: ({ facts }) => cutText(facts?.handler ?? null) },
  handlerPlace: { column: 'handler_place', type: 'text', of: ({ facts }) => cutText(facts?.source ?? null) },
  /** How long the event loop was blocked during the request; null if that was not watched. */
  blockedMs: { column: 'blocked_ms', type: 'double', of: ({ document }) => blockedMsOf(document) },
  /** Name of the release that responded; null if it is unknown. */
  release: { column: 'release', type: 'text', of: ({ document }) => document.release ?? null },
  summary: { column: 'summary', type: 'text', of: ({ document }) => document.summary ?? null },
  /** 32 hexadecimal digits; null if it is not part of a trace. */
  traceId: { column: 'trace_id', type: 'text', of: ({ document }) => document.trace?.traceId ?? null },
  /** The caller's span (trace-context.ts); null if the trace begins with it. */
  callerSpan: { column: 'caller_span', type: 'text', of: ({ document }) => document.trace?.parentId ?? null },
  /** Length of the document in bytes, known once it is queued; 0: a summary, which has none. */
  bytes: { column: 'bytes', type: 'integer', of: () => 0 },
} satisfies Record<string, Column>;

type Columns = typeof COLUMNS;

export type ProfileIndex = { -readonly [Name in keyof Columns]: ReturnType<Columns[Name]['of']> };

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

/** Written out, because V8 turns an object that is filled by name into a dictionary, which each reader pays for. */
export function indexOf(source: IndexSource): ProfileIndex {
  return {
    status: COLUMNS.status.of(source),
    method: COLUMNS.method.of(source),
    url: COLUMNS.url.of(source),
    route: COLUMNS.route.of(source),
    durationMs: COLUMNS.durationMs.of(source),
    queries: COLUMNS.queries.of(source),
    startedAt: COLUMNS.startedAt.of(source),
    process: COLUMNS.process.of(source),
    token: COLUMNS.token.of(source),
    kind: COLUMNS.kind.of(source),
    state: COLUMNS.state.of(source),
    parent: COLUMNS.parent.of(source),
    child: COLUMNS.child.of(source),
    origin: COLUMNS.origin.of(source),
    clientAddress: COLUMNS.clientAddress.of(source),
    error: COLUMNS.error.of(source),
    findings: COLUMNS.findings.of(source),
    mark: COLUMNS.mark.of(source),
    marks: COLUMNS.marks.of(source),
    location: COLUMNS.location.of(source),
    referrer: COLUMNS.referrer.of(source),
    dest: COLUMNS.dest.of(source),
    outcome: COLUMNS.outcome.of(source),
    requestId: COLUMNS.requestId.of(source),
    contentType: COLUMNS.contentType.of(source),
    responseBytes: COLUMNS.responseBytes.of(source),
    handler: COLUMNS.handler.of(source),
    handlerPlace: COLUMNS.handlerPlace.of(source),
    blockedMs: COLUMNS.blockedMs.of(source),
    release: COLUMNS.release.of(source),
    summary: COLUMNS.summary.of(source),
    traceId: COLUMNS.traceId.of(source),
    callerSpan: COLUMNS.callerSpan.of(source),
    bytes: COLUMNS.bytes.of(),
  };
}
