import type { ErrorFact } from '../../profiler/facts.ts';
import type { Thrown } from '../../profiler/thrown.ts';
import type { ValuesRecord } from '../../profiler/values.ts';
import type { SourcePlace } from './place.ts';

export interface LayerPlace {
  name: string;
  /** `file:line` of its registration. */
  place: string | null;
}

/** One of the last log lines before the error. */
interface ErrorLog {
  atMs: number;
  level: string;
  channel: string;
  message: string;
}

export interface ThrownRecord {
  /** `sent`: its stack is in the body of a 5xx, or in what was logged as text before it; no error was recorded. */
  origin: ErrorFact['origin'] | 'sent';
  /** Milliseconds since the request began. */
  atMs: number;
  /** Thrown after the response finished. */
  late: boolean;
  /** Status of its response; null if it got none. */
  status: number | null;
  thrown: Thrown;
  /** The middleware it came from, and the error handler that responded; absent if unknown. */
  from?: LayerPlace;
  handler?: LayerPlace;
  /** The handler called `next()` without the error instead of responding. */
  dropped?: true;
  /** No error handler responded, and this function was meant to be one. */
  misdeclared?: LayerPlace & { parameters: number };
  /** The frame shown first: the deepest of the developer's own. */
  place: SourcePlace | null;
}

export interface ExceptionData {
  errors: ThrownRecord[];
  /** Errors left out of the list. */
  errorsDropped: number;
  logs: ErrorLog[];
  /** Earlier lines left out. */
  logsDropped: number;
  /** Absent unless somebody asked for the values where it failed. */
  values?: ValuesRecord;
}
