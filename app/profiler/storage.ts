/**
 * The contract of a storage: write, amend, read, find, purge. Two stand behind it, PostgreSQL and memory;
 * one contract test (test/storage/contract.ts) runs against both.
 */
import type { ProfileKind } from './context.ts';
import type { ProfileIndex } from './profile.ts';

/** A profile as it is read: columns and the document as JSON text. */
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

export interface ReadProfile extends StoredProfile {
  /** Late facts by name: browser timing, a pin. */
  amendments: Record<string, unknown>;
}

export type SortColumn = 'startedAt' | 'durationMs' | 'status' | 'queries' | 'url' | 'method';

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
  /** True: something was thrown or the status is 5xx; false: neither. */
  hasError?: boolean;
  process?: string;
  /** Pattern of the route, exactly. */
  route?: string;
  sort?: SortColumn;
  descending?: boolean;
  /** 1 to 1000. */
  limit: number;
  offset: number;
}

export interface FindResult {
  rows: ProfileIndex[];
  /** Matching profiles in all; beyond 2 000 of them a storage may estimate. */
  total: number;
  /** False where `total` is an estimate. */
  totalIsExact: boolean;
}

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
  read(token: string): Promise<ReadProfile | null>;
  find(query: ProfileQuery): Promise<FindResult>;
  /** Deletes in bounded steps; returns how many profiles went. */
  purge(limits: RetentionLimits): Promise<number>;
  /** A block of numbers for tokens that no other process on this storage has. `key`: taken over where it has none yet. */
  leaseTokens?(key?: Buffer): Promise<TokenLease>;
  /** All numbers below have been leased by some process. */
  leasedUntil?(): Promise<number>;
  close(): Promise<void>;
}
