import type { Json } from '../profiler/json.ts';
import type { BindingType } from './statement.ts';

/** OpenTelemetry's names (`db.system.name`). */
export type QuerySystem = 'postgresql' | 'mysql' | 'sqlite' | 'mongodb' | 'mssql' | 'oracle' | 'other';

export interface QueryFact {
  /** Absent: not known. */
  system?: QuerySystem;
  /** What a level above calls it: `User.findMany`. */
  label?: string;
  /** As sent, with the dialect's placeholders. */
  sql: string;
  bindings: Json[];
  /** Types by binding, where JSON loses them; absent if it keeps all types. */
  types?: readonly (BindingType | null)[];
  /** `select`, `insert`, `raw` …; null for BEGIN and other control statements. */
  method: string | null;
  startMs: number;
  /** Until the driver's result; null while it runs. */
  durationMs: number | null;
  /** Returned or changed; null if the driver does not say. */
  rows: number | null;
  /** Name of the connection in its pool. */
  connection: string | null;
  transaction: string | null;
  /** Milliseconds between requesting a connection from the pool and getting it. */
  waitMs: number;
  /** The connection that it waited for had not been used before: it was opened meanwhile. */
  opened?: true;
  error: string | null;
  /** `file:line` in own code. */
  caller: string | null;
  /** Which Knex instance, if a host has several; else the system. */
  instance: string;
}

declare module '../profiler/facts.ts' {
  interface Facts {
    query: QueryFact;
  }
}
