import type { Json } from '../../profiler/json.ts';
import type { Called } from '../stacks/caller.ts';
import type { BindingType } from './statement.ts';

export type QuerySystem = 'postgresql' | 'mysql' | 'sqlite' | 'mongodb' | 'mssql' | 'oracle' | 'other';

export interface ConnectionHolder {
  profile: string;
  what: string;
  /** `file:line` of its last statement there, else of its route; null if unknown. */
  place: string | null;
  connections: number;
  /** Its response was over by then: it had not released them. */
  ended?: true;
}

export interface LockHolder {
  profile: string;
  what: string;
  /** `file:line` of the statement that took the lock; null if unknown. */
  place: string | null;
  table: string;
  waitedMs: number;
}

export interface LeftSetting {
  name: string;
  by: string;
  place: string;
}

export interface QueryFact extends Called {
  system?: QuerySystem;
  server?: string;
  label?: string;
  dropped?: readonly string[];
  skipped?: string;
  sql: string;
  bindings: Json[];
  /** Types by binding, where JSON loses them; absent if it keeps all types. */
  types?: readonly (BindingType | null)[];
  startMs: number;
  durationMs: number | null;
  rows: number | null;
  warnings?: number;
  found?: readonly Json[];
  /** Of a large result of joins: how many values its columns of ids have. */
  ids?: Readonly<Record<string, number>>;
  /** Of the one row that it inserted, as the driver tells it beside the rows. */
  insertedId?: string;
  /** Rows that a REPLACE of SQLite changed besides its own, by foreign keys and triggers. */
  alsoChanged?: number;
  connection: string | null;
  transaction: string | null;
  waitMs: number;
  /** The connection that it waited for had not been used before: it was opened meanwhile. */
  opened?: true;
  pooled?: true;
  /** All connections of the pool were in use when it asked for one. */
  full?: true;
  /** The first statement on a connection that no known pool gave out. */
  first?: true;
  heldBy?: readonly ConnectionHolder[];
  lockedBy?: LockHolder;
  /** The first statement of this request on a connection that still had it. */
  setting?: LeftSetting;
  error: string | null;
  /** The line of a helper that sent it for `caller`. */
  through?: string;
  instance: string;
}

declare module '../../profiler/record/facts.ts' {
  interface Facts {
    query: QueryFact;
  }
}
