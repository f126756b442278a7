/** Who asks, as far as a response may depend on it. Marks of masked values are numbered in each record anew. */
import { withoutNumbers } from '../../profiler/masking/redact.ts';
import type { NamedValue } from '../../profiler/record/raw-headers.ts';
import type { ReceivedRecord } from './received.ts';

type User = Pick<ReceivedRecord, 'sessionAndUser'>;

/** Headers by which responses may differ on purpose. */
const TELLS = /^(?:accept|accept-language|authorization|cookie|hx-request|x-.*)$/i;
/** Headers that each request has another value of. */
export const NAMES_REQUEST = /trace|request-?id|correlation|b3|forwarded|real-ip/i;

/** The same text for requests of one user and session. */
export function userText({ sessionAndUser = null }: User): string {
  return withoutNumbers(JSON.stringify(sessionAndUser));
}

/** The same text for those of one kind of client, too. */
export function clientOf({ headers, ...user }: User & { headers: readonly NamedValue[] }): string {
  const told = headers.filter(({ name }) => TELLS.test(name) && !NAMES_REQUEST.test(name));
  return userText(user) + withoutNumbers(JSON.stringify(told));
}
