/** Helpers of rules about errors and log lines: where they came from. */
import type { ExceptionData, ThrownRecord } from '../../panels/exception/data.ts';
import { frameLine } from '../../profiler/record/thrown.ts';
import type { Database } from './kept.ts';

export function lineOf({ place }: Pick<ThrownRecord, 'place'>): string | null {
  return frameLine(place?.frame);
}

/** It was thrown, rejected or passed to `next()`, not just logged, or read from the response. */
export function wasSeen({ origin }: Pick<ThrownRecord, 'origin'>): boolean {
  return origin !== 'logged' && origin !== 'sent';
}

/** What Node.js throws for a header that is set after the headers were sent (`ERR_HTTP_HEADERS_SENT`). */
export function isAnsweredTwice({ late, origin, thrown }: ThrownRecord): boolean {
  if (!late && origin !== 'late') return false;
  return /^Cannot \w+ headers after they are sent/.test(thrown.chain.at(-1)?.message ?? '');
}

/** A shorter message may be part of any other. */
const SHORTEST_MESSAGE = 8;

/** It is the error of a statement, or wraps it: the finding about the statement explains it. */
export function isOfStatement(
  { thrown }: Pick<ThrownRecord, 'thrown'>,
  database: Database | undefined,
): boolean {
  const messages = thrown.chain.map(({ message }) => message);
  return (database?.queries ?? []).some(
    ({ error }) =>
      error !== null &&
      error.length >= SHORTEST_MESSAGE &&
      messages.some((message) => message.includes(error)),
  );
}

export function loggedErrorPlace(exception: ExceptionData | undefined): string | null {
  const logged = exception?.errors.find(({ origin }) => origin === 'logged');
  return logged === undefined ? null : lineOf(logged);
}

/** `file:line` where the error came from whose message a line has; null if none of the request has it. */
export function toldErrorPlace(exception: ExceptionData | undefined, line: string): string | null {
  const told = exception?.errors.find(({ thrown }) => {
    const message = thrown.chain[0]?.message ?? '';
    return message !== '' && line.includes(message);
  });
  return told === undefined ? null : lineOf(told);
}
