/** The panel of outgoing calls: who was called, how long each part took, and the profile of the called service. */
import { brotliDecompressSync, constants, unzipSync } from 'node:zlib';
import {
  round,
  lasting,
  SHORTEST_WAIT_MS,
  shorten,
  type SpanDraft,
  type SpanPart,
} from '../../profiler/read/span.ts';
import { withRoundedTimes } from '../../profiler/record/recorded-facts.ts';
import type { Context } from '../../profiler/record/context.ts';
import type { Facts } from '../../profiler/record/facts.ts';
import type { Panel } from '../../profiler/panel.ts';
import { pairHeaders, rawHeader } from '../../profiler/record/raw-headers.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { unkeptOf, unkeptSpans } from '../shared/unkept.ts';
import type { CallEntry, HttpClientData, CallBodyEntry } from './data.ts';
import { hasFailed } from '../shared/failed-call.ts';
import { presentCalls } from './present.ts';
import { isEncoded, storedText } from '../../profiler/http-text.ts';
import { pathOf } from '../../profiler/request-target.ts';

function callLabel(method: string, url: string): string {
  const short = pathOf(url.replace(/^[a-z]+:\/\//i, ''));
  return `${shorten(method, 20)} ${shorten(short, 80)}`;
}

/** Opening a connection is waiting; then the response, where the call tells how long each took. */
function callParts({ startMs, durationMs, connection }: CallEntry): SpanPart[] | null {
  if (connection === null || durationMs === null) return null;
  const { lookupMs, connectMs, tlsMs } = connection;
  const opening = Math.min(durationMs, (lookupMs ?? 0) + (connectMs ?? 0) + (tlsMs ?? 0));
  if (opening < SHORTEST_WAIT_MS) return null;
  return [
    { kind: 'socket', startMs, durationMs: opening },
    { kind: 'out', startMs: startMs + opening, durationMs: durationMs - opening },
  ];
}

function failureOf(call: CallEntry): string | null {
  if (call.status !== null && call.status >= 400) return String(call.status);
  return hasFailed(call) ? 'failed' : null;
}

function callSpans(calls: readonly CallEntry[], endMs: number): SpanDraft[] {
  return calls.map((call, index): SpanDraft => {
    const parts = callParts(call);
    const failed = failureOf(call);
    return {
      kind: 'out',
      label: callLabel(call.method, call.url),
      startMs: call.startMs,
      durationMs: lasting(call.startMs, call.durationMs, endMs),
      panel: 'http_client',
      anchor: `c${index + 1}`,
      ...(parts === null ? {} : { parts }),
      ...(failed === null ? {} : { failed }),
    };
  });
}

const MOST_UNPACKED = 256 * 1024;

/** The bytes may end anywhere in the stream. null if they are compressed otherwise, or no such stream. */
function unpack(preview: Buffer, encoding: string): Buffer | null {
  const name = encoding.trim().toLowerCase();
  if (!isEncoded(name)) return preview;
  try {
    if (name === 'gzip' || name === 'x-gzip' || name === 'deflate')
      return unzipSync(preview, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: MOST_UNPACKED });
    if (name === 'br')
      return brotliDecompressSync(preview, {
        finishFlush: constants.BROTLI_OPERATION_FLUSH,
        maxOutputLength: MOST_UNPACKED,
      });
  } catch {
    // Cut within a block, larger than the limit, or not what its header says.
  }
  return null;
}

const NOTHING: CallBodyEntry = { bytes: 0, text: '', truncated: false };

/** null if no body was recorded. A request that announced a body and sent nothing of it has one of 0 bytes. */
function bodyOf(
  body: Facts['call']['requestBody'],
  headers: readonly string[],
  isRequest = false,
): CallBodyEntry | null {
  if (body === undefined) return null;
  if (body.bytes === 0) return isRequest && Number(rawHeader(headers, 'content-length')) > 0 ? NOTHING : null;
  const { bytes, preview } = body;
  const plain = unpack(preview, rawHeader(headers, 'content-encoding') ?? '');
  const contentType = rawHeader(headers, 'content-type');
  return {
    bytes,
    text: plain === null ? null : storedText(plain, { contentType, encoding: null }),
    truncated: bytes > preview.length,
  };
}

function hostOf(url: string): string {
  return /^[a-z]+:\/\/([^/?#]*)/i.exec(url)?.[1] ?? '';
}

function entryOf({ sentMs, requestBody, responseBody, ...fact }: Facts['call']): CallEntry {
  const sent = bodyOf(requestBody, fact.requestHeaders, true);
  const received = bodyOf(responseBody, fact.responseHeaders);
  return {
    ...withRoundedTimes(fact),
    connection: withRoundedTimes(fact.connection),
    ...(typeof sentMs === 'number' ? { sentMs: round(sentMs) } : {}),
    requestHeaders: pairHeaders(fact.requestHeaders),
    responseHeaders: pairHeaders(fact.responseHeaders),
    ...(sent === null ? {} : { requestBody: sent }),
    ...(received === null ? {} : { responseBody: received }),
  };
}

function collect(context: Context): HttpClientData | null {
  const facts = context.all('call');
  if (facts.length === 0) return null;
  const calls = facts.map(entryOf);
  const unkept = unkeptOf(context.beyond('call'));
  return {
    calls,
    ...(unkept === null ? {} : { unkept }),
    totals: {
      calls: calls.length + (unkept?.count ?? 0),
      hosts: new Set(calls.map(({ url }) => hostOf(url))).size,
      failed: calls.filter(hasFailed).length + (unkept?.failed ?? 0),
    },
  };
}

export const httpClientPanel: Panel<HttpClientData> = {
  name: 'http_client',
  title: 'Outgoing calls',
  menu: {
    key: 'c',
    rank: 40,
    label: 'outgoing',
    summary: ({ totals }) => ({
      text: numberHelpers.count(totals.calls),
      tone: totals.failed > 0 ? 'warn' : 'plain',
      count: totals.calls,
    }),
  },
  recorded: {
    facts: { call: 'calls' },
    nothing: {
      what: 'This request made no outgoing calls.',
      why: 'Recorded: fetch, undici, node:http and node:https.',
    },
    spans: ({ calls, unkept }, { endMs }) => [
      ...callSpans(calls, endMs),
      ...unkeptSpans(unkept, { kind: 'out', noun: 'calls', panel: 'http_client' }),
    ],
  },
  collect,
  rows: presentCalls,
  view: { kind: 'out', showsCalled: true },
};
