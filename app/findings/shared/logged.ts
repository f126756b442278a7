/** Helpers of rules about log lines: whose line it is, and where an error came from that was only logged. */
import type { ExceptionData } from '../../panels/exception/data.ts';
import { lineOf } from './errors.ts';

const IN_LIBRARY = /(?:^|\/)node_modules\//;

export function isInLibrary(caller: string | null | undefined): boolean {
  return IN_LIBRARY.test(caller ?? '');
}

/** `file:line` where the first error that was only logged came from; null if unknown. */
export function loggedErrorPlace(exception: ExceptionData | undefined): string | null {
  const { file = null, line = null } =
    exception?.errors.find(({ origin }) => origin === 'logged')?.place?.frame ?? {};
  return file === null || line === null ? null : `${file}:${line}`;
}

/** `file:line` where the error came from whose message a line has; null if none of the request has it. */
export function toldErrorPlace(exception: ExceptionData | undefined, line: string): string | null {
  const told = exception?.errors.find(({ thrown }) => {
    const message = thrown.chain[0]?.message ?? '';
    return message !== '' && line.includes(message);
  });
  return told === undefined ? null : lineOf(told);
}
