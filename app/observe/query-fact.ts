import type { Json } from '../profiler/json.ts';
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
  /** Milliseconds from sending the statement until that transaction ended. */
  waitedMs: number;
}

export interface LeftSetting {
  name: string;
  by: string;
  place: string;
}

export interface QueryFact {
  /** Absent: not known. */
  system?: QuerySystem;
  /** `host:port/database`, or the folder of a socket in place of the host; absent: not known. */
  server?: string;
  /** What a level above calls it: `User.findMany`. */
  label?: string;
  /** Conditions that were given `undefined`, and that the ORM has left out. */
  dropped?: readonly string[];
  /** As sent, with the dialect's placeholders. */
  sql: string;
  bindings: Json[];
  /** Types by binding, where JSON loses them; absent if it keeps all types. */
  types?: readonly (BindingType | null)[];
  startMs: number;
  durationMs: number | null;
  /** Returned or changed; null if the driver does not say. */
  rows: number | null;
  /** Warnings of the database about a write that succeeded; absent: none. */
  warnings?: number;
  /** The first rows it returned, by column; absent: none, or the driver does not hand them out. */
  found?: readonly Json[];
  connection: string | null;
  transaction: string | null;
  /** Milliseconds between requesting a connection from the pool and getting it. */
  waitMs: number;
  /** The connection that it waited for had not been used before: it was opened meanwhile. */
  opened?: true;
  /** A BEGIN, COMMIT or ROLLBACK that was sent through a pool, which gives each statement any free connection. */
  pooled?: true;
  /** All connections of the pool were in use when it asked for one. */
  full?: true;
  /** The first statement on a connection that no known pool gave out. */
  first?: true;
  /** Who held the pool's connections when it asked for one and all were in use. */
  heldBy?: readonly ConnectionHolder[];
  /** Whose transaction may have held the lock that it waited for. */
  lockedBy?: LockHolder;
  /** The first statement of this request on a connection that still had it. */
  setting?: LeftSetting;
  error: string | null;
  caller: string | null;
  /** The lines of own code that led to `caller`, the nearest first; absent unless that line runs again and again. */
  path?: readonly string[];
  /** The line of a helper that sent it for `caller`. */
  through?: string;
  /** Which Knex instance, if a host has several; else the system. */
  instance: string;
}

declare module '../profiler/facts.ts' {
  interface Facts {
    query: QueryFact;
  }
}
