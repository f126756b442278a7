import type { ErrorFact } from '../../profiler/record/facts.ts';
import type { Thrown } from '../../profiler/record/thrown.ts';
import type { ValuesRecord } from '../../profiler/record/values.ts';
import type { SourcePlace } from './place.ts';

export interface LayerPlace {
  name: string;
  place: string | null;
}

interface ErrorLog {
  atMs: number;
  level: string;
  channel: string;
  message: string;
}

export interface ThrownRecord {
  origin: ErrorFact['origin'] | 'sent';
  atMs: number;
  late: boolean;
  status: number | null;
  thrown: Thrown;
  /** The middleware it came from, and the error handler that responded; absent if unknown. */
  from?: LayerPlace;
  handler?: LayerPlace;
  /** The handler called `next()` without the error instead of responding. */
  dropped?: true;
  /** No error handler responded, and this function was meant to be one. */
  misdeclared?: LayerPlace & { parameters: number };
  place: SourcePlace | null;
}

export interface ExceptionData {
  errors: ThrownRecord[];
  errorsDropped: number;
  logs: ErrorLog[];
  logsDropped: number;
  values?: ValuesRecord;
}
