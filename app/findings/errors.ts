/** Errors: their origin and their outcome. */
import { errorText } from '../profiler/error-text.ts';
import type { ExceptionData, ThrownRecord } from '../panels/exception/data.ts';
import { lastRunning } from '../panels/shared/ran-layers.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import { isInLibrary } from '../profiler/read/rows.ts';
import type { ProfileHead } from '../profiler/profile.ts';
import { frameLine, type ThrownFrame } from '../profiler/record/thrown.ts';
import { pathOf } from '../profiler/request-target.ts';
import { bytesText } from '../view-helpers/numbers.ts';
import { callName, lostMethods, outcomeOf, typeOf } from './shared/calls.ts';
import {
  isAnsweredTwice,
  isOfWork,
  lineOf,
  loggedErrorPlace,
  timeoutOf,
  toldErrorPlace,
  wasSeen,
} from './shared/errors.ts';
import { isSuccess, nameOfLayer } from './shared/http.ts';
import { type Database, endOf, type Kept, type Needs, type Rule } from './shared/kept.ts';
import { labelOf } from './shared/queries.ts';
import { brokeBy, count, duration, excerpt } from './shared/wording.ts';

type Error = Pick<ThrownRecord, 'thrown' | 'place'>;

/** Its last cause is known: root-cause tells of it. */
function hasRoot({ chain, chainEnd }: Error['thrown']): boolean {
  return chain.length > 1 && chainEnd === 'root';
}

function titleOf({ class: name, message }: { class: string; message: string }): string {
  return errorText({ name, message: excerpt(message) });
}

function nameOf({ thrown }: Error): string {
  const link = thrown.chain.at(hasRoot(thrown) ? -1 : 0);
  if (link === undefined) return 'An error';
  // Parsers of forms name the field beside the message.
  const { field } = link.properties;
  const named = typeof field === 'string' && field !== '' ? ` (field “${excerpt(field, 60)}”)` : '';
  return `${titleOf(link)}${named}`;
}

function sentenceOf({ thrown, from, place }: ThrownRecord): string {
  const [top] = thrown.chain;
  if (from === undefined || top === undefined || top.isError) return `Thrown: ${nameOf({ thrown, place })}`;
  return `${from.name} threw or passed to next() a value that is not an Error (${top.class}): ${excerpt(top.message)}`;
}

/** A framework responded with the error, and then passed it to `next()`: the response says its message. Such an error is not late. */
function isInResponse({ thrown }: Error, text: string | null | undefined): boolean {
  const message = thrown.chain[0]?.message ?? '';
  return message !== '' && (text?.includes(JSON.stringify(message).slice(1, -1)) ?? false);
}

/** Its message is from the GET that followed a redirected call, which method-lost reports. */
function isOfLostCall(error: Error, client: Kept['http_client'] | undefined): boolean {
  return lostMethods(client?.calls ?? []).some(({ next }) => isInResponse(error, next.responseBody?.text));
}

const errorThrown: Rule<Needs<'exception', 'request' | 'database' | 'http_client'>> = {
  name: 'error-thrown',
  needs: ['exception'],
  labels: ['exception', 'late error'],
  why: 'An error that was thrown, rejected or passed to `next()` became a 5xx, came after the response, or got none; the place is the topmost frame in your own code, else the middleware that it came from.',
  fix: 'Start at the named line: check its inputs, and handle each value that they can have. `.then(next)` passes a result on as an error: call `next()` without it.',
  find({ exception: { errors }, request, database, http_client }, { status, durationMs, outcome }) {
    const isHidden = status !== null && status < 400;
    const isError = status !== null && status >= 400;
    return errors.flatMap((record, index): FindingDraft[] => {
      const { origin, late, atMs } = record;
      // Reported by unhandled-rejection, stream-failed, logged-error, failure-sent, answered-twice and timed-out.
      if (origin === 'uncaughtException' || origin === 'unhandledRejection' || origin === 'stream') return [];
      if (!wasSeen(record)) return [];
      if (isAnsweredTwice(record) || (timeoutOf(record.thrown) !== null && !late)) return [];
      const common = { anchor: `error-${index + 1}`, place: lineOf(record) ?? record.from?.place };
      const isSent = isError && isInResponse(record, request?.response?.text);
      if ((late || origin === 'late') && !isSent) {
        const when =
          durationMs === null || atMs <= durationMs
            ? 'after the headers were sent'
            : `${duration(atMs - durationMs)} after ${outcome === 'aborted' ? 'the connection had closed' : 'the response'}`;
        const sentence = `Thrown ${when}: ${nameOf(record)}`;
        return [{ ...common, label: 'late error', broke: 'unseen', severity: 'warn', sentence }];
      }
      const answered = isSent ? status : record.status;
      const isLost = status === null && outcome === 'aborted';
      const isFault = isLost || (answered !== null && answered >= 500);
      const isRootCause = hasRoot(record.thrown) && (record.status ?? 0) >= 500;
      if (isHidden || !isFault || isRootCause) return [];
      const isOfOthers = isOfWork(record, { database, http_client }) || isOfLostCall(record, http_client);
      if ((status ?? 500) >= 500 && isOfOthers) return [];
      const sentence = `${sentenceOf(record)}${isLost ? ', and no response was sent' : ''}`;
      return [{ ...common, label: 'exception', broke: 'response', severity: 'bad', sentence }];
    });
  },
};

function ownFrame(frames: readonly ThrownFrame[] | undefined): ThrownFrame | undefined {
  return frames?.find(({ kind }) => kind === 'own');
}

function findingOf({ thrown, from }: ThrownRecord, index: number): FindingDraft[] {
  const { chain, chainEnd } = thrown;
  const [first] = chain;
  const root = chain.at(-1);
  if (first === undefined || root === undefined || chain.length < 2 || chainEnd !== 'root') return [];
  const frame = ownFrame(root.frames);
  const where = frame?.function === null || frame === undefined ? '' : `, thrown in ${frame.function},`;
  const skipped = chain.reduce((sum, link) => sum + (link.skipped ?? 0), 0);
  const depth = `${count(chain.length - 1 + skipped, 'level')} down`;
  const sentence = `${titleOf(root)}${where} caused this ${first.class} (${depth})`;
  const place = frameLine(frame) ?? frameLine(ownFrame(first.frames)) ?? from?.place ?? null;
  return [{ broke: 'response', severity: 'bad', sentence, anchor: `error-${index + 1}`, place }];
}

const rootCause: Rule<Needs<'exception', 'database' | 'http_client'>> = {
  name: 'root-cause',
  needs: ['exception'],
  labels: ['root cause'],
  why: 'The error that failed the request has a `cause`; the place is the topmost frame in your own code of the last cause, else the middleware that it came from.',
  fix: 'Fix the cause; the wrapping errors only show where it surfaced.',
  find({ exception: { errors }, ...work }, { status: sent }) {
    return errors.flatMap((record, index) => {
      const { status, origin } = record;
      const isFault = status !== null && status >= 500;
      if (isFault && (sent ?? 500) >= 500 && isOfWork(record, work)) return [];
      return isFault || origin === 'unhandledRejection' || origin === 'uncaughtException'
        ? findingOf(record, index)
        : [];
    });
  },
};

const streamFailed: Rule<Needs<'exception', 'request' | 'routing' | 'database' | 'http_client'>> = {
  name: 'stream-failed',
  needs: ['exception'],
  labels: ['stream failed'],
  why: 'A stream that was piped into the response emitted an error, and a listener ended the response as a success: `pipe` forwards no error. Or the response was destroyed with the error, as `pipeline` does, so the client saw it break off.',
  fix: 'Fix the named line. Keep `pipeline(source, transform, res)` or `res.destroy(error)`: the client sees the failure. `res.end()` makes a partial response look complete. Open the source before you send the first byte.',
  find({ exception: { errors }, request, routing, database, http_client }, { status, outcome }) {
    const isBroken = outcome === 'aborted';
    if (!isBroken && (status === null || status >= 400 || outcome !== 'finished')) return [];
    return errors.flatMap((record, index): FindingDraft[] => {
      if (record.origin !== 'stream' || (isBroken && isOfWork(record, { database, http_client }))) return [];
      const sent = bytesText(request?.response?.bytes ?? 0);
      const sentence = isBroken
        ? `The response broke off ${status === null ? 'before its headers were sent' : `after ${sent}`}: it was destroyed with ${nameOf(record)}`
        : `A stream that was piped into the response failed (${nameOf(record)}), and the response ended with ${status} after ${sent}, as if that was all`;
      const place = lineOf(record) ?? routing?.route?.source;
      const broke = isBroken ? 'response' : 'unseen';
      return [{ broke, severity: 'bad', sentence, anchor: `error-${index + 1}`, place }];
    });
  },
};

const unhandledRejection: Rule<Needs<'exception', 'routing'>> = {
  name: 'unhandled-rejection',
  needs: ['exception'],
  labels: ['unhandled rejection', 'uncaught exception'],
  why: 'Node.js reported the error through `uncaughtExceptionMonitor`, in the async context of this request.',
  fix: 'Await or return the promise, or end it with `catch()`. In callbacks, pass the error to `next()`.',
  find({ exception: { errors }, routing }, { durationMs }) {
    return errors.flatMap(({ origin, atMs, thrown, place }, index) => {
      if (origin !== 'unhandledRejection' && origin !== 'uncaughtException') return [];
      const isRejection = origin === 'unhandledRejection';
      const [error] = thrown.chain;
      const what = error === undefined ? 'An error' : titleOf(error);
      const when =
        durationMs !== null && atMs > durationMs
          ? `${duration(atMs - durationMs)} after the response`
          : `${duration(atMs)} after the request started`;
      return [
        {
          label: isRejection ? 'unhandled rejection' : 'uncaught exception',
          broke: durationMs !== null && atMs > durationMs ? 'unseen' : 'response',
          severity: 'bad',
          sentence: `${isRejection ? 'Unhandled rejection' : 'Uncaught exception'}: ${what}, ${when}`,
          anchor: `error-${index + 1}`,
          // An error of a stream or socket has no frame of the code that opened it.
          place: lineOf({ place }) ?? routing?.route?.source,
        },
      ];
    });
  },
};

const errorHandlerArguments: Rule<Needs<'exception'>> = {
  name: 'error-handler-arguments',
  needs: ['exception'],
  labels: ['error handler'],
  why: 'No error handler took the error, and a registered function begins with the parameters of one (`error, req`) but has fewer than four: Express calls it as middleware.',
  fix: 'Declare all four parameters, even if `next` is not used: `(error, req, res, next)`. Defaults and rest parameters don’t count.',
  find({ exception: { errors } }) {
    const index = errors.findIndex(({ misdeclared }) => misdeclared !== undefined);
    const { misdeclared, handler } = errors[index] ?? {};
    if (misdeclared === undefined || handler !== undefined) return [];
    const { name, place, parameters } = misdeclared;
    const sentence = `${name} was not called with the error: it has ${count(parameters, 'parameter')}, and Express takes only functions with 4 parameters as error handlers`;
    return [{ broke: 'response', severity: 'bad', sentence, anchor: `error-${index + 1}`, place }];
  },
};

const errorDropped: Rule<Needs<'exception'>> = {
  name: 'error-dropped',
  needs: ['exception'],
  labels: ['error dropped'],
  why: 'The error handler had not responded when the next middleware started, and Express had no error any more: the handler called `next()` without one.',
  fix: 'Pass the error on (`next(error)`), or respond to it: `res.status(500).json(…)`.',
  find({ exception: { errors } }, { status }) {
    return errors.flatMap((record, index): FindingDraft[] => {
      const { handler, dropped, thrown } = record;
      const [error] = thrown.chain;
      if (dropped !== true || handler === undefined || error === undefined) return [];
      const isUnseen = status !== null && status < 400;
      // A refusal, such as a missing login, after which the request may go on.
      if (isUnseen && error.status !== null && error.status < 500) return [];
      const name = handler.name.startsWith('<anonymous>') ? 'An error handler' : handler.name;
      const end = status === null ? '' : `: the request ended with ${status}`;
      const sentence = `${name} called next() without ${titleOf(error)}${end}`;
      const severity = isUnseen ? 'warn' : 'bad';
      const place = handler.place ?? lineOf(record);
      return [{ broke: brokeBy(status), severity, sentence, anchor: `error-${index + 1}`, place }];
    });
  },
};

/** The last query or call that own code made: what failed is behind it. */
function lastWork(
  database: Database | undefined,
  http: Kept['http_client'] | undefined,
): { name: string; caller: string | null } | undefined {
  const query = database?.queries.findLast(({ caller }) => caller !== null && !isInLibrary(caller));
  const call = http?.calls.findLast(({ caller }) => caller !== null && !isInLibrary(caller));
  if (call !== undefined && endOf(call) > (query === undefined ? 0 : endOf(query)))
    return {
      name: `${callName(call)} (${[outcomeOf(call), typeOf(call)].filter((text) => text !== '').join(', ')})`,
      caller: call.caller,
    };
  if (database === undefined || query === undefined) return undefined;
  return { name: labelOf(database, query), caller: query.caller };
}

const failureSent: Rule<Needs<'routing', 'exception' | 'request' | 'logs' | 'database' | 'http_client'>> = {
  name: 'failure-sent',
  needs: ['routing'],
  labels: ['5xx sent'],
  why: 'The status is a 5xx, and no error was thrown, rejected or passed to `next()`: the code set the status itself, often in a `catch` block.',
  fix: 'Pass the error to `next(error)` or throw it again, so that the error handler and this page get its stack.',
  find({ routing, exception, request, logs, database, http_client: calls }, { status }) {
    if (status === null || status < 500) return [];
    const errors = exception?.errors ?? [];
    if (errors.some(wasSeen)) return [];
    // Their own rules name the place.
    if ((database?.totals.failed ?? 0) > 0 || (calls?.totals.failed ?? 0) > 0) return [];
    const layer = lastRunning(routing.layers);
    if (routing.layers.length === 0) return [];
    const line = logs?.lines.findLast(({ level }) => level === 'error' || level === 'warn');
    const lineAt = isInLibrary(line?.caller) ? null : line?.caller;
    const sent = errors.find(({ origin }) => origin === 'sent');
    const sentAt = (sent === undefined ? null : lineOf(sent)) ?? loggedErrorPlace(exception);
    const known = sentAt ?? lineAt ?? request?.response?.sentFrom;
    const last = known === null || known === undefined ? lastWork(database, calls) : undefined;
    const place = known ?? last?.caller ?? layer?.source;
    const [error] = sent?.thrown.chain ?? [];
    const what = error === undefined ? '' : `, likely because of ${titleOf(error)}`;
    const isTold = error !== undefined && line?.message.includes(error.message) === true;
    const logged = line === undefined || isTold ? '' : `; logged before: ${excerpt(line.message)}`;
    const after = last === undefined ? '' : `, after ${last.name}`;
    const sentence = `${nameOfLayer(layer)} responded ${status}${what}${after}, and nothing was thrown or passed to next()${logged}`;
    return [{ broke: 'response', severity: 'bad', sentence, anchor: 'match', place }];
  },
};

/** What JavaScript throws by itself: other errors of a resolver are often meant for the client. */
const FAULTS = new Set(['TypeError', 'ReferenceError', 'RangeError', 'SyntaxError', 'URIError']);

/** GraphQL responds 200 whatever its resolvers throw, and JSON-RPC whatever its procedures do. */
function failedResolver(exception: ExceptionData | undefined, status: number): FindingDraft[] {
  const index =
    exception?.errors.findIndex(
      ({ origin, thrown }) =>
        origin === 'sent' || (origin === 'graphql' && FAULTS.has(thrown.chain[0]?.class ?? '')),
    ) ?? -1;
  const record = exception?.errors[index];
  const [error] = record?.thrown.chain ?? [];
  if (record === undefined || error === undefined) return [];
  const what = record.origin === 'sent' ? 'procedure' : 'resolver';
  const sentence = `A ${what} failed (${titleOf(error)}), but the request still answered ${status}`;
  const place = lineOf(record);
  return [
    { broke: 'unseen', severity: 'warn', sentence, panel: 'exception', anchor: `error-${index + 1}`, place },
  ];
}

const errorAnswered2xx: Rule<Needs<'routing', 'exception'>> = {
  name: 'error-answered-2xx',
  needs: ['routing'],
  labels: ['error hidden'],
  why: 'A middleware or handler threw, rejected or passed an error to `next()`, a GraphQL resolver threw a built-in error such as `TypeError`, or a procedure of tRPC or JSON-RPC sent its internal error (-32603). The response is a 2xx.',
  fix: 'Respond to errors with a 4xx or 5xx status, so that clients, caches and monitoring can tell. GraphQL responds 200 by design: there, fix the line, and throw a `GraphQLError` for errors that clients should know.',
  find({ routing, exception }, { status, outcome }) {
    // A response that broke off hides nothing from its client.
    if (!isSuccess(status) || outcome === 'aborted') return [];
    const { errors = [] } = exception ?? {};
    // Reported by error-dropped, and by answered-twice.
    if (errors.some((error) => error.dropped === true || isAnsweredTwice(error))) return [];
    // By error-thrown: a response that was sent before can't tell.
    if (errors.length > 0 && errors.every(({ late, origin }) => late || origin === 'late')) return [];
    const layer = routing.layers.find(({ outcome }) => outcome === 'threw');
    if (layer === undefined) return failedResolver(exception, status);
    const sentence = `${nameOfLayer(layer)} failed, but the request still answered ${status}`;
    return [{ broke: 'unseen', severity: 'warn', sentence, anchor: 'match', place: layer.source }];
  },
};

/** Express prints what no error handler took: an exception of this profile if it came before the end, else the response said it. */
const BY_EXPRESS = /(?:^|\/)node_modules\/express\/lib\/application\.js:/;

/** `GET /none 404`: the line of an access log, or of a framework, about a response that tells the failure itself. */
function isAccessLine(message: string, { status, method, url }: ProfileHead): boolean {
  if (status === null || status < 400) return false;
  const words = message.split(/[^\w/.~%-]+/);
  return [String(status), method, pathOf(url)].every((word) => words.includes(word));
}

function isRefusal({ thrown }: ExceptionData['errors'][number]): boolean {
  const type = thrown.chain[0]?.properties?.type;
  return typeof type === 'string' && /^(?:entity|encoding|charset|parameters)\./.test(type);
}

const loggedError: Rule<Needs<'logs', 'exception'>> = {
  name: 'logged-error',
  needs: ['logs'],
  labels: ['logged error'],
  why: 'A line of level error or higher was logged during the request, and the response status is not a 5xx.',
  fix: 'Report the failure in the response, or log expected cases at a lower level. Reserve `error` for failures that need action.',
  find({ logs: { lines }, exception }, request) {
    const { status, outcome } = request;
    if (status !== null && status >= 500) return [];
    const isTold = (status !== null && status >= 400) || (exception?.errors.some(wasSeen) ?? false);
    // Rules of their own say that a body was refused, and that the response broke off.
    const isReported = (error: ExceptionData['errors'][number]): boolean =>
      isRefusal(error) || (error.origin === 'stream' && outcome === 'aborted');
    const sent = exception?.errors.filter(isReported) ?? [];
    const isSent = (message: string): boolean =>
      sent.some(({ thrown }) => message.includes(thrown.chain[0]?.message || '\0'));
    const isError = ({ level, caller, message }: (typeof lines)[number]): boolean =>
      level === 'error' &&
      !(isTold && BY_EXPRESS.test(caller ?? '')) &&
      !isAccessLine(message, request) &&
      !isSent(message);
    const index = lines.findIndex(isError);
    const first = lines[index];
    if (first === undefined) return [];
    const errors = lines.filter(isError).length;
    const message = excerpt(first.message);
    const response = status === null ? '' : `, but the response was ${status}`;
    const sentence =
      errors === 1
        ? `An error was logged${response}: ${message}`
        : `${count(errors)} errors were logged${response}; first: ${message}`;
    const told = isInLibrary(first.caller)
      ? (toldErrorPlace(exception, first.message) ?? loggedErrorPlace(exception))
      : null;
    const place = told ?? first.caller;
    return [{ broke: 'unseen', severity: 'warn', sentence, anchor: `l${index + 1}`, place }];
  },
};

export const errorRules: readonly Rule[] = [
  errorThrown,
  rootCause,
  streamFailed,
  unhandledRejection,
  errorHandlerArguments,
  errorDropped,
  failureSent,
  errorAnswered2xx,
  loggedError,
];
