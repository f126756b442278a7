/**
 * Trace and span ids of a profile. A span's id follows from the profile and the place of its row there, so that every export of a
 * profile, live or from its page, names its spans alike.
 */
import { hash as digest } from 'node:crypto';
import type { ExportedProfile } from './otlp-work.ts';

const TRACE_ID_LENGTH = 32;
const HALF_SPAN_ID_LENGTH = 8;

export interface Ids {
  traceId: string;
  /** Id of the span of a row; ROOT: that of the request itself. */
  spanId(row: number): string;
}

/** Row of the span that all others are in. */
export const ROOT = 0;

/** One hash for all spans: rows differ, so their ids do. */
export function idsOf({ token, startedAt, process, trace }: ExportedProfile): Ids {
  const hash = digest('sha256', `${process} ${startedAt} ${token}`);
  const high = hash.slice(TRACE_ID_LENGTH, TRACE_ID_LENGTH + HALF_SPAN_ID_LENGTH);
  const low = parseInt(hash.slice(-HALF_SPAN_ID_LENGTH), 16);
  return {
    traceId: trace?.traceId ?? hash.slice(0, TRACE_ID_LENGTH),
    spanId: (row) => high + ((low + row) >>> 0).toString(16).padStart(HALF_SPAN_ID_LENGTH, '0'),
  };
}
