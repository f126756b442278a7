/** How a request ended: work that went on after its response, and clients that left before it. */
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import { namedHeader } from '../profiler/record/raw-headers.ts';
import { bytesText } from '../view-helpers/numbers.ts';
import { callName } from './shared/calls.ts';
import { timeoutOf } from './shared/errors.ts';
import { holdersText } from './shared/holders.ts';
import { nameOfLayer, receivedHeader } from './shared/http.ts';
import { type Call, type Database, endOf, type Interval, type Needs, type Rule } from './shared/kept.ts';
import { labelOf, sqlOf } from './shared/queries.ts';
import { count, duration } from './shared/wording.ts';
import { mediaTypeOf } from '../profiler/http-text.ts';

type Started = Interval & { caller: string | null };

const GRACE_MS = 5;
/** Work under way when the client leaves may go on; what goes on this often is repeated by a timer or a listener. */
const MANY = 3;

function after(list: readonly Started[] | undefined, endMs: number): Started[] {
  // Usually the last one started before the end.
  const last = list?.at(-1);
  if (list === undefined || last === undefined || last.startMs <= endMs) return [];
  return list.filter(({ startMs }) => startMs > endMs);
}

function unfinished<T extends Started>(list: readonly T[] | undefined, endMs: number): T[] {
  return list?.filter((one) => one.startMs <= endMs && endOf(one) > endMs) ?? [];
}

/** Without settings of a connection (`set time zone`), which a pool also sends to one that no query of the request waits for. */
function queriesOf(database: Database | undefined): readonly Started[] | undefined {
  return database?.queries.filter((query) => !/^\s*set\b/i.test(sqlOf(database, query)));
}

function textOf(queries: readonly Started[], calls: readonly Started[]): string {
  return [
    ...(queries.length === 0 ? [] : [count(queries.length, 'query', 'queries')]),
    ...(calls.length === 0 ? [] : [count(calls.length, 'outgoing call')]),
  ].join(' and ');
}

function callerOf(work: readonly Started[]): string | null {
  return work.find(({ caller }) => caller !== null)?.caller ?? null;
}

const READ_BODY =
  'Read the body of every response, or drop it: `body.dump()` of undici, `response.body.cancel()` of `fetch`, `response.resume()` of `node:http`.';

const workAfterResponse: Rule<Needs<'request', 'database' | 'http_client'>> = {
  name: 'work-after-response',
  needs: ['request'],
  labels: ['after the response'],
  why: 'Queries or outgoing calls in the async context of this request started more than 5 ms after the response finished or its connection closed, or had not finished when it was sent.',
  fix: "Await the work if its result matters, else hand it to a queue. Stop timers when the client leaves (`res.on('close', …)`). If your own queue ran other requests' work here, pass it `profiler.bind(work)`.",
  find({ database, http_client }, { durationMs, outcome }) {
    if (durationMs === null || (outcome !== 'finished' && outcome !== 'aborted')) return [];
    const isLeft = outcome === 'aborted';
    const panelOf = (queries: readonly Started[]) => (queries.length > 0 ? 'database' : 'http_client');
    const severity = 'info';
    const found: FindingDraft[] = [];
    const endMs = durationMs + GRACE_MS;
    const all = queriesOf(database);
    const queries = after(all, endMs);
    const calls = after(http_client?.calls, endMs);
    const last = [...queries, ...calls].reduce((most, { startMs }) => Math.max(most, startMs), 0);
    if (last > 0) {
      const sentence = `${textOf(queries, calls)} started after ${isLeft ? 'the connection had closed' : 'the response'}, the last one ${duration(last - durationMs)} later`;
      const goesOn = isLeft && queries.length + calls.length >= MANY;
      const place = callerOf([...queries, ...calls]);
      found.push({ severity: goesOn ? 'warn' : severity, sentence, panel: panelOf(queries), place });
    }
    if (isLeft) return found;
    const open = unfinished(all, durationMs);
    const openCalls = unfinished(http_client?.calls, durationMs);
    const unread = openCalls.find(({ status, durationMs: ms }) => status !== null && ms === null);
    if (open.length === 0 && unread !== undefined) {
      const { status, caller: place } = unread;
      const sentence = `${callName(unread)} returned ${status}, but its body was not read to the end before the response was sent: until it is, its connection is busy`;
      found.push({ severity, sentence, panel: 'http_client', place, fix: READ_BODY });
    } else if (open.length + openCalls.length > 0) {
      const sentence = `${textOf(open, openCalls)} had not finished when the response was sent`;
      found.push({ severity, sentence, panel: panelOf(open), place: callerOf([...open, ...openCalls]) });
    }
    return found;
  },
};

type Given = Needs<'request', 'http_client' | 'database' | 'routing'>;

/** No client is so impatient by itself: it canceled, as a search field does that asks for something else. */
const CANCELED_MS = 1000;

/** A timeout of a call that waits for a connection of its client begins only when it has one. */
const NO_CALL_FIX =
  'The code waits here for something that is not recorded: no call or query was running. It may be a free connection of an HTTP client (an earlier response whose body nobody read keeps one), a lock, or a missing response.';

interface Awaited {
  /** Of neither a call nor a query. */
  isIdle?: true;
  text: string;
  place: string | null;
}

function pendingAt<T extends Interval>(work: readonly T[] | undefined, atMs: number): T | undefined {
  return work?.find((one) => one.startMs < atMs && endOf(one) >= atMs);
}

function stateOf(call: Call, atMs: number): string {
  const { status, headersMs, startMs, sentMs, heldBy = [] } = call;
  if (sentMs === undefined && heldBy.length > 0)
    return `${callName(call)} had waited ${duration(atMs - startMs)} for a free connection of its client, held by ${holdersText(heldBy)}`;
  if (status !== null && headersMs !== null && startMs + headersMs <= atMs)
    return `${callName(call)} had returned ${status}, but its body was not read to the end for ${duration(atMs - startMs - headersMs)}, which keeps its connection busy`;
  const announced = namedHeader(call.requestHeaders, 'content-length');
  const unsent =
    call.requestBody?.bytes === 0 && Number(announced) > 0
      ? `: 0 of ${count(Number(announced), 'byte')} of its body were written, as happens if a parser has read the stream before`
      : '';
  return `${callName(call)} had not responded for ${duration(atMs - startMs)}${unsent}`;
}

function awaitedAt({ http_client, database, routing }: Given, atMs: number): Awaited | null {
  const call = pendingAt(http_client?.calls, atMs);
  if (call !== undefined) return { text: stateOf(call, atMs), place: call.caller };
  const query = pendingAt(database?.queries, atMs);
  if (database !== undefined && query !== undefined)
    return {
      text: `${labelOf(database, query)} had been running for ${duration(atMs - query.startMs)}`,
      place: query.caller,
    };
  const layer = routing?.layers.at(-1);
  if (layer?.outcome !== 'running' || layer.startMs > atMs) return null;
  const what =
    layer.kind === 'handler'
      ? 'had not responded'
      : `had neither responded nor called next() for ${duration(atMs - layer.startMs)}`;
  return { isIdle: true, text: `${nameOfLayer(layer)} ${what}`, place: layer.source };
}

const clientLeft: Rule<Given> = {
  name: 'client-left',
  needs: ['request'],
  labels: ['client left', 'connection closed'],
  why: 'The connection closed before the response finished, and no error was seen. The finding names who closed it, the client or this process (`destroy()`, a timeout of the socket, its end), and the work that had not ended.',
  fix: "Give calls a timeout, and let each middleware respond or call `next()`. Respond sooner, or stop the work when the client disconnects (`res.on('close')`, an AbortSignal).",
  find(kept, { outcome, status, durationMs, error }) {
    if (outcome !== 'aborted' || durationMs === null || error !== null) return [];
    const { request } = kept;
    const { response, body } = request;
    // Event streams normally end this way; an incomplete upload has its own rule.
    if (mediaTypeOf(response?.contentType ?? null) === 'text/event-stream') return [];
    if (Number(receivedHeader(request, 'content-length') ?? 0) > (body?.bytes ?? 0)) return [];
    const progress =
      status === null
        ? 'before the headers were sent'
        : `with ${bytesText(response?.bytes ?? 0)} of the body sent`;
    const awaited = status === null ? awaitedAt(kept, durationMs) : null;
    const isHere = response?.isClosedHere === true;
    const who = isHere ? 'This process closed the connection' : 'The client disconnected';
    const sentence = `${who} after ${duration(durationMs)}, ${progress}${awaited === null ? '' : `: ${awaited.text}`}`;
    const severity = awaited === null || durationMs < CANCELED_MS ? 'info' : 'warn';
    const label = isHere ? 'connection closed' : 'client left';
    const fix = awaited?.isIdle === true ? { fix: NO_CALL_FIX } : {};
    return [{ label, severity, sentence, anchor: 'response', place: awaited?.place, ...fix }];
  },
};

/** The timeout goes on to the error handlers from the last function, as if that had called `next()`. */
function lastBefore(routing: Given['routing'], atMs: number): Awaited | null {
  const layer = routing?.layers.findLast(
    ({ kind, startMs }) => kind !== 'error' && kind !== 'router' && startMs <= atMs,
  );
  return layer === undefined
    ? null
    : { text: `${nameOfLayer(layer)} had not responded`, place: layer.source };
}

const timedOut: Rule<Given & Needs<'exception'>> = {
  name: 'timed-out',
  needs: ['exception', 'request'],
  labels: ['timed out'],
  why: 'The middleware `connect-timeout` passed its error on, which became the response. The finding names the work that had not ended by then; the place is its line.',
  fix: 'Make that work faster, give it a shorter timeout of its own, or raise the one of the middleware. It does not stop the handler: return if `req.timedout` is set.',
  find({ exception, ...kept }) {
    return exception.errors.flatMap((record, index): FindingDraft[] => {
      const { thrown, atMs, late } = record;
      const limitMs = timeoutOf(thrown);
      if (limitMs === null || late) return [];
      const awaited = awaitedAt(kept, atMs) ?? lastBefore(kept.routing, atMs);
      const by = kept.routing?.layers.find(({ put }) => put?.includes('req.timedout') === true);
      const who = by?.source === undefined || by.source === null ? '' : ` (${by.source})`;
      const sentence = `connect-timeout${who} gave up after ${duration(limitMs)}${awaited === null ? '' : `: ${awaited.text}`}`;
      const place = awaited?.place ?? by?.source;
      const common = { panel: 'exception', anchor: `error-${index + 1}`, place };
      return [{ ...common, broke: 'response', severity: 'bad', sentence }];
    });
  },
};

export const endingRules: readonly Rule[] = [workAfterResponse, clientLeft, timedOut];
