/** The client disconnected before the response finished. */
import type { KeptRequest } from '../panels/request/data.ts';
import { fromLayerRow } from '../panels/shared/layer-rows.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { numberHelpers } from '../view-helpers/numbers.ts';
import { callName } from './shared/calls.ts';
import { mediaType, nameOfLayer, receivedHeader } from './shared/http.ts';
import { type Call, endOf, type Interval, type Kept } from './shared/kept.ts';
import { labelOf } from './shared/queries.ts';
import { count, duration } from './shared/wording.ts';

type Given = { request: KeptRequest } & Partial<Pick<Kept, 'http_client' | 'database' | 'routing'>>;

/** What the request was waiting for when the client left. */
interface Awaited {
  text: string;
  place: string | null;
}

/** The one that had run longest of those that had not ended. */
function pendingAt<T extends Interval>(work: readonly T[] | undefined, atMs: number): T | undefined {
  return work?.find((one) => one.startMs < atMs && endOf(one) >= atMs);
}

/** What an open call is waiting for. */
function stateOf(call: Call, atMs: number): string {
  const { status, headersMs, startMs } = call;
  if (status !== null && headersMs !== null)
    return `${callName(call)} had returned ${status}, but its body was not read to the end for ${duration(atMs - startMs - headersMs)}, which keeps its connection busy`;
  const announced = call.requestHeaders.find(({ name }) => name.toLowerCase() === 'content-length')?.value;
  const unsent =
    call.requestBody?.bytes === 0 && Number(announced) > 0
      ? `: 0 of ${count(Number(announced), 'byte')} of its body were written, as happens if a parser has read the stream before`
      : '';
  return `${callName(call)} had not responded for ${duration(atMs - startMs)}${unsent}`;
}

/** null: nothing recorded says what it was. */
function awaitedAt({ http_client, database, routing }: Given, atMs: number): Awaited | null {
  const call = pendingAt(http_client?.calls, atMs);
  if (call !== undefined) return { text: stateOf(call, atMs), place: call.caller };
  const query = pendingAt(database?.queries, atMs);
  if (database !== undefined && query !== undefined)
    return {
      text: `${labelOf(database, query)} had been running for ${duration(atMs - query.startMs)}`,
      place: query.caller,
    };
  const last = routing?.layers.at(-1);
  const layer = last === undefined ? undefined : fromLayerRow(last);
  if (layer?.outcome !== 'running' || layer.startMs > atMs) return null;
  const what =
    layer.kind === 'handler'
      ? 'had not responded'
      : `had neither responded nor called next() for ${duration(atMs - layer.startMs)}`;
  return { text: `${nameOfLayer(layer)} ${what}`, place: layer.source };
}

export const clientLeft: FindingRule<Given> = {
  name: 'client-left',
  needs: ['request'],
  labels: ['client left'],
  why: 'The connection closed before the response finished, and the application had not destroyed it with an error. What had not ended by then is named.',
  fix: "Give calls a timeout, and let each middleware respond or call `next()`. Respond sooner, or stop the work when the client disconnects (`res.on('close')`, an AbortSignal).",
  find(kept, { outcome, status, durationMs, error }) {
    if (outcome !== 'aborted' || durationMs === null || error !== null) return [];
    const { request } = kept;
    const { response, body } = request;
    // Event streams normally end this way; an incomplete upload has its own rule.
    if (mediaType(response?.contentType ?? null) === 'text/event-stream') return [];
    if (Number(receivedHeader(request, 'content-length') ?? 0) > (body?.bytes ?? 0)) return [];
    const progress =
      status === null
        ? 'before the headers were sent'
        : `with ${numberHelpers.bytesText(response?.bytes ?? 0)} of the body sent`;
    const awaited = status === null ? awaitedAt(kept, durationMs) : null;
    const sentence = `The client disconnected after ${duration(durationMs)}, ${progress}${awaited === null ? '' : `: ${awaited.text}`}`;
    return [
      { severity: awaited === null ? 'info' : 'warn', sentence, anchor: 'response', place: awaited?.place },
    ];
  },
};
