/** Helpers of rules about errors and log lines: where they came from. */
import type { ExceptionData, ThrownRecord } from '../../panels/exception/data.ts';
import { frameLine } from '../../profiler/record/thrown.ts';
import { hasFailed } from '../../panels/shared/failed-call.ts';
import { isRecord } from '../../profiler/json.ts';
import type { Database, Kept } from './kept.ts';

export function lineOf({ place }: Pick<ThrownRecord, 'place'>): string | null {
  return frameLine(place?.frame);
}

/** It was thrown, rejected or passed to `next()`, not just logged, or read from the response. */
export function wasSeen({ origin }: Pick<ThrownRecord, 'origin'>): boolean {
  return origin !== 'logged' && origin !== 'sent';
}

/** Of the middleware `connect-timeout`, after so many milliseconds; null: another error. timed-out reports it. */
export function timeoutOf({ chain }: ThrownRecord['thrown']): number | null {
  const [link] = chain;
  const isOfPackage = link?.frames.some((frame) => frame.package === 'connect-timeout') === true;
  return isOfPackage && typeof link.properties.timeout === 'number' ? link.properties.timeout : null;
}

/** What Node.js throws for a header that is set after the headers were sent (`ERR_HTTP_HEADERS_SENT`). */
export function isAnsweredTwice({ late, origin, thrown }: ThrownRecord): boolean {
  if (!late && origin !== 'late') return false;
  return /^Cannot \w+ headers after they are sent/.test(thrown.chain.at(-1)?.message ?? '');
}

/** A shorter message may be part of any other. */
const SHORTEST_MESSAGE = 8;
/** A log line may end in the middle of a longer one. */
const LONGEST_TOLD = 80;

/** Where Sequelize, TypeORM and Objection keep the error of the driver, whose message theirs may not have. */
const KEPT_BY = ['parent', 'driverError', 'nativeError'];

function messagesOf({ chain }: ThrownRecord['thrown']): string[] {
  return chain.flatMap(({ message, properties }) => [
    message,
    ...KEPT_BY.flatMap((name) => {
      const kept = properties[name];
      return isRecord(kept) && typeof kept.message === 'string' ? [kept.message] : [];
    }),
  ]);
}

/** It is this error, or wraps it. */
function isOf({ thrown }: Pick<ThrownRecord, 'thrown'>, error: string): boolean {
  return error.length >= SHORTEST_MESSAGE && messagesOf(thrown).some((message) => message.includes(error));
}

/** The finding about the statement explains it. */
export function isOfStatement(record: Pick<ThrownRecord, 'thrown'>, database: Database | undefined): boolean {
  return (database?.queries ?? []).some(({ error }) => error !== null && isOf(record, error));
}

/** A call's error begins with its class. */
const CLASS = /^\w+: /;

export function messageOf(error: string | null): string {
  return error?.replace(CLASS, '') ?? '';
}

/** `ECONNREFUSED` of `Error: connect ECONNREFUSED 127.0.0.1:5518`: its code, which a log line may have alone. */
export function codeOf(error: string | null): string {
  return /\b(?:E[A-Z]{4,}|(?:ERR|UND_ERR)_\w+)\b/.exec(error ?? '')?.[0] ?? '';
}

/** Classes of errors that axios, got, ky and ofetch make of a response; superagent keeps the response in its own. */
const OF_CLIENT = /^(?:AxiosError|HTTPError|FetchError)$/;

/** A client made it of the response to this call. */
function isMadeOf({ thrown }: Pick<ThrownRecord, 'thrown'>, status: number | null): boolean {
  if (status === null) return false;
  const named = new RegExp(String.raw`\b${status}\b`);
  return thrown.chain.some(
    (link) =>
      (OF_CLIENT.test(link.class) || 'response' in link.properties) &&
      (link.status === status || named.test(link.message)),
  );
}

/** It is the error of a statement or of a call, which has a finding that explains it. */
export function isOfWork(
  record: Pick<ThrownRecord, 'thrown'>,
  { database, http_client }: Pick<Partial<Kept>, 'database' | 'http_client'>,
): boolean {
  const calls = http_client?.calls ?? [];
  return (
    isOfStatement(record, database) ||
    calls.some(
      (call) => hasFailed(call) && (isOf(record, messageOf(call.error)) || isMadeOf(record, call.status)),
    )
  );
}

/** A line of the log, written since then, has one of these words: the application told of the failure itself. A short word counts in a warning only. */
export function isLogged(logs: Kept['logs'] | undefined, words: readonly string[], sinceMs: number): boolean {
  const told = words.map((word) => word.slice(0, LONGEST_TOLD)).filter((word) => word !== '');
  return (logs?.lines ?? []).some(
    ({ atMs, level, message }) =>
      atMs >= sinceMs &&
      told.some(
        (word) =>
          (level === 'warn' || level === 'error' || word.length >= SHORTEST_MESSAGE) &&
          message.includes(word),
      ),
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
