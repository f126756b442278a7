/**
 * The contract of a storage. PostgreSQL and memory implement it; one contract test (test/storage/contract.ts) runs against both.
 */
import type { SearchedFields, TextPlace } from './find-text.ts';
import type { ProfileKind } from './context.ts';
import type { ProfileIndex, SortColumn } from './profile-index.ts';
import type {
  RouteSummaries,
  RoutePercentiles,
  RoutePercentilesQuery,
  SummaryQuery,
} from './route-summary.ts';

/** A profile to store: columns, and the document as JSON text. */
export interface StoredProfile {
  index: ProfileIndex;
  document: string;
}

/** A profile in the writer's queue. */
export interface QueuedProfile extends StoredProfile {
  /** The document as UTF-8, valid until `write` settles. */
  readonly bytes: Uint8Array;
  /** Decoded from `bytes` when read. */
  readonly document: string;
}

/** Text that many profiles refer to, such as the table of routes; stored once. */
export interface SharedPart {
  /** Hash of its content. */
  id: string;
  text: string;
}

/** A profile as read back: all that its columns say is in the document, too. */
export interface ReadProfile {
  /** null: unchanged since the known version. */
  document: string | null;
  /** Changes whenever the document is stored; absent: the storage has no versions. */
  version?: string;
  /** Late facts by name: browser timing, a pin. */
  amendments: Record<string, unknown>;
  /** null if it has no route; absent if they were not asked for. */
  routePercentiles?: RoutePercentiles | null;
}

export interface ReadOptions {
  /** The caller has this version: its document need not be read again. */
  known?: string | undefined;
  /** Also read the percentiles of its route, which saves a statement. */
  routePercentiles?: boolean;
}

export interface ProfileQuery {
  /** Default: `request` only, without error pages and the profiler's own pages. */
  kinds?: readonly ProfileKind[];
  token?: string;
  /** Children of this profile. */
  parent?: string;
  clientAddress?: string;
  /** Case-insensitive. */
  method?: string;
  /** An exact status, or a class given by its first digit: `{ class: 4 }`. */
  status?: number | { class: number };
  /** Substring of the URL, case-insensitive; no wildcards. */
  url?: string;
  /** Milliseconds since 1970, inclusive. */
  from?: number;
  /** Exclusive. */
  until?: number;
  overMs?: number;
  /** At least so many queries. */
  minQueries?: number;
  /** True: something was thrown or the status is 5xx; false: neither. */
  hasError?: boolean;
  /** True: recorded in full; false: only a summary was recorded. */
  isFull?: boolean;
  /** True: it has findings; false: it has none. */
  hasFinding?: boolean;
  /** Part of the label of one of its worst findings, case-insensitive. */
  mark?: string;
  /** True: only pinned ones. */
  pinned?: boolean;
  /**
   * Occurs in the URL, in the thrown error or in one of the `searched` fields, case-insensitive. Only the newest profiles are
   * searched, as far as `FindResult.looked` says, and the result is newest first whatever `sort` says.
   */
  text?: string;
  /** Fields of panels' stored data to search for `text`, by panel. */
  searched?: SearchedFields;
  process?: string;
  /** As stored; of a commit, the first seven digits are enough. */
  release?: string;
  /** Pattern of the route, exactly. */
  route?: string;
  /** 32 hexadecimal digits. */
  traceId?: string;
  sort?: SortColumn;
  descending?: boolean;
  /** False: `total` and pins are not needed; `total` is then the number of rows found. */
  counted?: false;
  /** 1 to 1000. */
  limit: number;
  offset: number;
}

export interface FindResult {
  rows: ProfileIndex[];
  /** Number of matching profiles; above 2,000 it may be an estimate. */
  total: number;
  /** False if `total` is an estimate, or a search for text did not look through all. */
  totalIsExact: boolean;
  /** Tokens of `rows` that are pinned; absent: none. */
  pinned?: readonly string[];
  /** Present for a search for text. */
  looked?: TextSearch;
}

export interface TextSearch {
  /** Profiles searched, of those that match all other filters. */
  count: number;
  /** False: there are older ones that were not searched. */
  all: boolean;
  /** When the oldest profile searched started; null if there is none. */
  oldest: number | null;
  /** Where the text occurs, by token. */
  found: Readonly<Record<string, TextPlace>>;
}

/** What a list shows in addition to its rows. */
export interface CountsAndHistogramQuery {
  /** Searches whose matches are counted. */
  counts: readonly ProfileQuery[];
  /** Requests over time: matches of `query` from `from` until `until`, in `parts` equal parts. */
  histogram?: { query: ProfileQuery; from: number; until: number; parts: number };
}

export interface CountsAndHistogram {
  /** Matches of each search, at most MOST_COUNTED + 1; null if counting took too long. */
  counts: readonly (number | null)[];
  /** null if it took too long or was not asked for. */
  histogram: {
    /** `errors`: responses with 5xx, and requests that threw without a 4xx response. */
    parts: { count: number; errors: number }[];
    /** All requests since this moment are counted; later than `from` if there are too many. */
    since: number;
  } | null;
}

/** Matches are counted exactly up to this number. */
export const MOST_COUNTED = 2000;
/** A histogram counts at most so many requests, the newest. */
export const MOST_IN_HISTOGRAM = 50_000;

export interface RetentionLimits {
  /** Profiles that began before this moment are deleted. */
  olderThan: number;
  /** Profiles of kind `request`, with their children, stored at most. */
  count: number;
  /** Bytes of documents stored at most. */
  bytes: number;
  /** Profiles of kind `profiler` stored at most. */
  profilerCount: number;
  /** Limits of the exceptions: pinned and failed requests and the slowest of each route outlive the rest. Absent: none do. */
  keepExceptions?: {
    /** Exceptions that began before this moment are deleted, too, unless pinned. */
    olderThan: number;
    count: number;
  };
}

export interface TokenLease {
  /** First number of the block, before the key's permutation. */
  start: number;
  count: number;
  /** 16 bytes shared by all processes of one storage. */
  key: Buffer;
}

export interface ProfileStorage {
  /** `postgresql` or `memory`; shown on the pages. */
  readonly name: string;
  /** What it stores outlives the process. */
  readonly isShared: boolean;
  /** Stores or replaces all, or rejects; the writer retries. */
  write(profiles: readonly QueuedProfile[]): Promise<void>;
  /** Stores what profiles refer to, before the profiles; called again every hour while it is in use. */
  storeShared(parts: readonly SharedPart[]): Promise<void>;
  /** Text by id, of those that are stored. Parts are deleted some hours after the last profile that may refer to them. */
  readShared(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Stores a late fact beside the document; false if the profile is not stored. */
  amend(token: string, name: string, value: unknown): Promise<boolean>;
  read(token: string, options?: ReadOptions): Promise<ReadProfile | null>;
  find(query: ProfileQuery): Promise<FindResult>;
  /** Totals by route, of the newest requests if there are many. */
  summarize(query: SummaryQuery): Promise<RouteSummaries>;
  /** Durations of a route, among the newest LOOKED_BACK requests before a moment. */
  routePercentiles(query: RoutePercentilesQuery): Promise<RoutePercentiles>;
  /** Counts and requests over time, within limits of rows and time. */
  countsAndHistogram(query: CountsAndHistogramQuery): Promise<CountsAndHistogram>;
  /** Deletes all profiles except pinned ones and their children; returns about how many. */
  clear(): Promise<number>;
  /** A setting shared by all processes on the storage; null if it is not set. */
  readSetting(name: string): Promise<string | null>;
  /** null deletes it. */
  writeSetting(name: string, value: string | null): Promise<void>;
  /** Applies the retention in short steps; returns how many profiles were deleted. */
  purge(limits: RetentionLimits): Promise<number>;
  /** Leases a block of numbers for tokens to this process. `key` is stored if the storage has none yet. `skip`: so many blocks are left out. */
  leaseTokens?(key?: Buffer, skip?: number): Promise<TokenLease>;
  /** Secret for signing forms, shared by all processes on the storage; absent: each process has its own. */
  formKey?(): Promise<Buffer>;
  /** Every number below is leased to some process. */
  leasedUntil?(): Promise<number>;
  close(): Promise<void>;
}
