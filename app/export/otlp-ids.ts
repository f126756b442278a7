/**
 * Trace and span ids of a profile. A span's id follows from the profile and the place of its row there, so that every export of a
 * profile, live or from its page, names its spans alike.
 */
import { createHash } from 'node:crypto';
import type { ExportedProfile } from './otlp-work.ts';

const TRACE_ID_LENGTH = 32;
const SPAN_ID_LENGTH = 16;

function hashOf(text: string, length: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, length);
}

export interface Ids {
  traceId: string;
  /** Id of the span of a row; `root`: that of the request itself. */
  spanId(row: string): string;
}

export function idsOf({ token, startedAt, process }: ExportedProfile): Ids {
  const profile = `${process} ${startedAt} ${token}`;
  return {
    traceId: hashOf(profile, TRACE_ID_LENGTH),
    spanId: (row) => hashOf(`${profile} ${row}`, SPAN_ID_LENGTH),
  };
}
