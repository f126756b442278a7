/** Errors of PostgreSQL and the socket -> one error of the catalogue with a sentence that names the reason. */
import { createError, type HindsightError, isHindsightError, codeOf } from '../errors.ts';
import { within } from '../profiler/timeouts.ts';

/** SQLSTATE: query_canceled, undefined_table, invalid_schema_name, insufficient_privilege. */
const CANCELED = '57014';
const MISSING = new Set(['42P01', '3F000']);
const FORBIDDEN = '42501';

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return 'of an unknown failure.';
  if (error instanceof AggregateError && error.message === '') return messageOf(error.errors[0]);
  return /[.!?]$/.test(error.message) ? error.message : `${error.message}.`;
}

/** Whether the tables are missing, or the role may not use them: migrations may fix that. */
export function isUnusable(error: unknown): boolean {
  const code = codeOf(error);
  return MISSING.has(code) || code === FORBIDDEN;
}

/** `timeoutMs`: what a search was given. The original is the cause. */
export function explain(error: unknown, timeoutMs: number): HindsightError {
  if (isHindsightError(error)) return error;
  const code = codeOf(error);
  let reason = messageOf(error);
  if (code === CANCELED) reason = `the search took longer than ${timeoutMs} ms; narrow it down.`;
  else if (MISSING.has(code)) reason = "the profiler's tables are missing; run its migrations.";
  else if (code === FORBIDDEN) reason = `the database's role may not use them (${reason})`;
  return createError('STORAGE_UNAVAILABLE', [reason], { cause: error });
}

/** Rejects if `work` has not settled in time; `work` goes on. A database that hangs reports no error. */
export function rejectAfter<T>(work: Promise<T>, ms: number): Promise<T> {
  const reason = `the database has not replied within ${ms / 1000} s.`;
  return within(work, ms, () => createError('STORAGE_UNAVAILABLE', [reason]));
}
