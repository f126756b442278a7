/**
 * The contract of a store. Files, memory and PostgreSQL implement it; one contract test (test/storage/store-contract.ts) runs against all.
 *
 * A store keeps records as rows with an opaque text. It reads its own writes: what was added is read and found at once, also before it
 * reaches the disk or the database. Filters, order and everything that is summed up over rows exist once, in query-rows.ts and
 * sum-rows.ts; a store may ask its database for less, but the result is the same.
 *
 * Every operation may be called from the first moment on and never blocks the event loop for more than some milliseconds. All that
 * return a promise reject with STORAGE_UNAVAILABLE if the disk or the database fails.
 */
import type { TextPlace } from './find-text.ts';
import type { ProfileIndex } from './profile-index.ts';
import type { FindResult, ProfileQuery } from './storage.ts';
import type { StoredText } from '../record/summary.ts';

/**
 * What lists show, filter and sort by. A store that knows that the process of a `running` record has ended gives its row as `final`; its
 * text stays as it was written.
 */
export type Row = ProfileIndex;

/** What findings add to a row, when they are known. */
export type RowLabels = Pick<Row, 'findings' | 'mark' | 'marks'>;

export interface StoreItem extends StoredText {
  /** Called once, when this version is stored (null), or with the reason why it never will be. A version that a newer one replaced is settled with it. */
  settled?: (dropped: string | null) => void;
}

export interface StoredRecord extends StoredText {
  /** Late facts by name, parsed. */
  amendments: Record<string, unknown>;
  pinned: boolean;
}

/** Finds a text in a record; null if it does not occur. */
export type FindText = (record: StoredText, wanted: string) => TextPlace | null;

/** What a store keeps at most. Pinned records outlive everything else. */
export interface StoreLimits {
  /** Milliseconds after which records are deleted. The store knows the time, because the clock of a process may jump. */
  maxAgeMs: number;
  /** Full records of requests, of jobs and of commands, each. */
  count: number;
  /** Bytes of texts. */
  bytes: number;
  /** Records of the profiler's own pages. */
  profilerCount: number;
  /** Summaries, and bytes of their texts: they go first. */
  summaryCount: number;
  summaryBytes: number;
  /** Pinned and failed requests and the slowest of each route: so many outlive the rest. */
  exceptions: {
    /** Milliseconds after which exceptions are deleted, too, unless pinned. */
    maxAgeMs: number;
    count: number;
    bytes: number;
  };
}

export interface StoreState {
  /** Items that wait to be stored, with the bytes of their texts, and how many bytes may wait. */
  pending: number;
  pendingBytes: number;
  maxPendingBytes: number;
  /** Attempts to store that failed. */
  failed: number;
  /** Storing fails at the moment, or takes long. */
  failing: boolean;
  /** A sentence about where records are, if that is not the usual place; else null. */
  notice: string | null;
}

export interface Store {
  /** Shown on the health page. */
  readonly name: string;
  readonly state: StoreState;
  /**
   * Queues records; never waits and never throws. The newest version of a token wins, but a `running` one never replaces a `final` one. If the
   * queue is full, the oldest are dropped. An item of another request that has the same token is dropped: `token in use`.
   */
  add(items: readonly StoreItem[]): void;
  /** Puts a late fact beside a record, replacing one of the same name; false if there is no such record. */
  amend(token: string, name: string, json: string): Promise<boolean>;
  /** null if there is no such record. */
  read(token: string): Promise<StoredRecord | null>;
  /** `findText` is needed if `query.text` is set. */
  find(query: ProfileQuery, findText?: FindText): Promise<FindResult>;
  /** Rows of all kinds that began at this moment or later, newest first, in batches. */
  rows(since: number): AsyncIterable<readonly Row[]>;
  /** Sets what findings add to the row. */
  label(token: string, labels: RowLabels): Promise<void>;
  /** Pins a record, or takes the pin off; false if there is no such record. */
  keep(token: string, yes: boolean): Promise<boolean>;
  /** Applies the limits, in short steps; returns how many records were deleted. */
  purge(limits: StoreLimits): Promise<number>;
  /** Deletes all records but pinned ones and their children; returns how many. */
  clear(): Promise<number>;
  /**
   * A text that all processes of the store share; returns the one in force, or null. Without `value` it only reads, null deletes, and with
   * `onlyIfAbsent` the text of another process stays. Names have letters, digits, `.`, `_` and `-` only. `purge` deletes `part-…`, which
   * records refer to, and `tokens-…`, a block of tokens, when they were not written for an hour and nothing stored needs them.
   */
  setting(name: string, value?: string | null, options?: { onlyIfAbsent?: true }): Promise<string | null>;
  /** Stores what waits, within `timeoutMs`; the rest is dropped: `shut down`. */
  close(timeoutMs?: number): Promise<void>;
  /** Stores what waits before it returns, and a setting, if it can: the process ends. Never throws. */
  closeSync(setting?: { name: string; value: string }): void;
}
