/** The panel of outgoing calls: who was called, how long each part took, and the profile of the called service. */
import type { Context } from '../../profiler/context.ts';
import type { Facts } from '../../profiler/facts.ts';
import type { Panel } from '../../profiler/panel.ts';
import { pairHeaders } from '../../profiler/raw-headers.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { round, roundOrNull } from '../shared/rows.ts';
import { unkeptOf, unkeptSpans } from '../shared/unkept.ts';
import { bodyOf } from './body.ts';
import type { CallEntry, HttpClientData } from './data.ts';
import { drawCalls } from './draw.ts';
import { hasFailed } from '../shared/failed-call.ts';
import { presentCalls } from './present.ts';
import { callSpans } from './spans.ts';

function hostOf(url: string): string {
  return /^[a-z]+:\/\/([^/?#]*)/i.exec(url)?.[1] ?? '';
}

function connectionOf(connection: Facts['call']['connection']): CallEntry['connection'] {
  if (connection === null) return null;
  const { lookupMs, connectMs, tlsMs, allMs } = connection;
  return {
    lookupMs: roundOrNull(lookupMs),
    connectMs: roundOrNull(connectMs),
    tlsMs: roundOrNull(tlsMs),
    ...(typeof allMs === 'number' ? { allMs: round(allMs) } : {}),
  };
}

function entryOf(fact: Facts['call']): CallEntry {
  const sent = bodyOf(fact.requestBody, fact.requestHeaders, true);
  const received = bodyOf(fact.responseBody, fact.responseHeaders);
  return {
    method: fact.method,
    url: fact.url,
    client: fact.client,
    status: fact.status,
    startMs: round(fact.startMs),
    durationMs: roundOrNull(fact.durationMs),
    headersMs: roundOrNull(fact.headersMs),
    connection: connectionOf(fact.connection),
    ...(typeof fact.sentMs === 'number' ? { sentMs: round(fact.sentMs) } : {}),
    ...(fact.reused === undefined ? {} : { reused: fact.reused }),
    requestHeaders: pairHeaders(fact.requestHeaders),
    responseHeaders: pairHeaders(fact.responseHeaders),
    ...(sent === null ? {} : { requestBody: sent }),
    ...(received === null ? {} : { responseBody: received }),
    error: fact.error,
    link: fact.link,
    caller: fact.caller,
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
  title: 'HTTP client',
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
  view: { kind: 'out', showsCalled: true, model: drawCalls },
};
