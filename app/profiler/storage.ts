/**
 * The contract of a storage: write, amend, read, find, summarize, survey, clear, purge. Two stand behind it, PostgreSQL and memory;
 * one contract test (test/storage/contract.ts) runs against both.
 */
import type { SearchedFields, TextPlace } from './find-text.ts';
import type { ProfileKind } from './context.ts';
import type { ProfileIndex, SortColumn } from './profile-index.ts';
import type { RouteSummaries, Standing, StandingQuery, SummaryQuery } from './route-summary.ts';

/** A profile as it is written: columns and the document as JSON text. */
export interface StoredProfile {
  index: ProfileIndex;
  document: string;
}

/** A profile on its way to the storage. */
export interface QueuedProfile extends StoredProfile {
  /** The document as UTF-8, valid until `write` settles; often in shared memory, where a thread can read it too. */
  readonly bytes: Uint8Array;
  /** Decoded from `bytes` when it is asked for. */
  readonly document: string;
}

/** Text that many profiles refer to, such as the table of routes, stored once. */
export interface SharedPart {
  /** A hash of its content. */
  id: string;
  text: string;
}

/** A profile as it is read: what its columns say stands in the document. */
export interface ReadProfile {
  /** null: it is the one of the version that is known. */
  document: string | null;
  /** Another one with each document that is stored; absent: nobody can tell. */
  version?: string;
  /** Late facts by name: browser timing, a pin. */
  amendments: Record<string, unknown>;
  /** What the requests of its route took before it; null where it has none. Absent: not asked for, or asked for apart. */
  standing?: Standing | null;
}

export interface ReadOptions {
  /** The version of a document that need not be read again. */
  known?: string | undefined;
  /** With its standing, which is a question less. */
  standing?: boolean;
}

export interface ProfileQuery {
  /** Default: `request` only, so that the profiler's own pages and error pages stay out. */
  kinds?: readonly ProfileKind[];
  token?: string;
  /** Children of this profile. */
  parent?: string;
  clientAddress?: string;
  /** Compared without regard to case. */
  method?: string;
  /** An exact status, or a class given by its first digit: `{ class: 4 }`. */
  status?: number | { class: number };
  /** Substring of the URL, case-insensitive; wildcards mean themselves. */
  url?: string;
  /** Milliseconds since 1970, inclusive. */
  from?: number;
  /** Exclusive. */
  until?: number;
  overMs?: number;
  /** At least so many statements. */
  minQueries?: number;
  /** True: something was thrown or the status is 5xx; false: neither. */
  hasError?: boolean;
  /** True: something was found wrong with it; false: nothing was. */
  hasFinding?: boolean;
  /** Part of the badge of one of its worst findings, without regard to case. */
  mark?: string;
  /** True: only pinned ones. */
  pinned?: boolean;
  /**
   * Stands in its URL, in the thrown error or in one of the `searched` fields, without regard to case. The newest are looked
   * through, as far as `FindResult.looked` says; they come newest first whatever `sort` says.
   */
  text?: string;
  /** Where else `text` is looked for, by panel: names of fields of its kept data. */
  searched?: SearchedFields;
  process?: string;
  /** Pattern of the route, exactly. */
  route?: string;
  sort?: SortColumn;
  descending?: boolean;
  /** False: nobody asks how many match in all, nor which of them are pinned; `total` is what was found then. */
  counted?: false;
  /** 1 to 1000. */
  limit: number;
  offset: number;
}

export interface FindResult {
  rows: ProfileIndex[];
  /** Matching profiles in all; beyond 2 000 of them a storage may estimate. */
  total: number;
  /** False where `total` is an estimate; of a search for text, where there may be more. */
  totalIsExact: boolean;
  /** Tokens of `rows` that are pinned; absent: none. */
  pinned?: readonly string[];
  /** Of a search for text. */
  looked?: TextSearch;
}

export interface TextSearch {
  /** Profiles looked through, of those that match all else. */
  count: number;
  /** False where there are more, which were not. */
  all: boolean;
  /** Where the text stands, by token. */
  found: Readonly<Record<string, TextPlace>>;
}

/** What a list shows beside its rows. */
export interface SurveyQuery {
  /** Searches to be counted. */
  counts: readonly ProfileQuery[];
  /** Requests over time: those of `query` from `from` until `until`, in so many parts. */
  pulse?: { query: ProfileQuery; from: number; until: number; parts: number };
}

export interface Survey {
  /** Matches of each, at most MOST_COUNTED and one more; null where counting took too long. */
  counts: readonly (number | null)[];
  /** null where it took too long, or was not asked for. */
  pulse: {
    /** `errors`: answered by 5xx, or something was thrown and the answer is no 4xx. */
    parts: { count: number; errors: number }[];
    /** The moment from which on all are counted; later than `from` where there are too many. */
    since: number;
  } | null;
}

/** Matches of a search that are counted one by one at most. */
export const MOST_COUNTED = 2000;
/** Requests of a pulse at most, the newest. */
export const MOST_IN_PULSE = 50_000;

export interface RetentionLimits {
  /** Profiles that began before this moment go. */
  olderThan: number;
  /** Profiles of kind request (with their children) kept at most. */
  count: number;
  /** Bytes of documents kept at most. */
  bytes: number;
  /** Newest profiles of kind `profiler` kept. */
  profilerCount: number;
  /** Pinned ones, failed ones and the slowest of each route outlive the rest within these; absent: nothing does. */
  spare?: {
    /** Those that began before this moment go too, unless pinned. */
    olderThan: number;
    count: number;
  };
}

export interface TokenLease {
  /** First number of the block, in the space of the key's permutation. */
  start: number;
  count: number;
  /** 16 bytes shared by all processes of one storage. */
  key: Buffer;
}

export interface ProfileStorage {
  /** `postgresql` or `memory`; shown on the pages. */
  readonly name: string;
  /** Stores or replaces. Rejects as a whole; the writer decides about another try. */
  write(profiles: readonly QueuedProfile[]): Promise<void>;
  /** Stores what profiles refer to, before them; called again hourly while it is in use. */
  keepShared(parts: readonly SharedPart[]): Promise<void>;
  /** Text by id; what is not stored is left out. Parts go some hours after the last profile that may refer to them. */
  readShared(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Puts a late fact beside the document; false where the profile is not stored. */
  amend(token: string, name: string, value: unknown): Promise<boolean>;
  read(token: string, options?: ReadOptions): Promise<ReadProfile | null>;
  find(query: ProfileQuery): Promise<FindResult>;
  /** Requests added up by route; looks at the newest ones only where there are many. */
  summarize(query: SummaryQuery): Promise<RouteSummaries>;
  /** What the requests of a route took of late, among the newest LOOKED_BACK before a moment. */
  standing(query: StandingQuery): Promise<Standing>;
  /** Counts, and requests over time, bounded in what they cost. */
  survey(query: SurveyQuery): Promise<Survey>;
  /** Deletes all but pinned ones and their children; returns how many went, about. */
  clear(): Promise<number>;
  /** A setting shared by all processes of the storage; null where it is not set. */
  readSetting(name: string): Promise<string | null>;
  /** null takes it away. */
  writeSetting(name: string, value: string | null): Promise<void>;
  /** Deletes in bounded steps; returns how many profiles went. */
  purge(limits: RetentionLimits): Promise<number>;
  /** A block of numbers for tokens that no other process on this storage has. `key`: taken over where it has none yet. */
  leaseTokens?(key?: Buffer): Promise<TokenLease>;
  /** A secret shared by all processes of the storage, to sign forms with; absent: each process has its own. */
  formKey?(): Promise<Buffer>;
  /** All numbers below have been leased by some process. */
  leasedUntil?(): Promise<number>;
  close(): Promise<void>;
}
