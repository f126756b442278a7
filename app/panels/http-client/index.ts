/** The panel of outgoing calls: what was asked of whom, how long each part took, and the profile of the called service. */
import type { Context } from '../../profiler/context.ts';
import type { Facts } from '../../profiler/facts.ts';
import type { Panel } from '../../profiler/panel.ts';
import { comparableCalls } from './comparable.ts';
import { isFailed } from './outcome.ts';
import { presentCalls } from './page.ts';
import { previewCalls } from './preview.ts';
import { coveredMs, round, roundOrNull } from '../shared/rows.ts';

export interface HeaderRow {
  name: string;
  value: string;
}

export interface CallEntry {
  method: string;
  url: string;
  client: 'fetch' | 'http';
  status: number | null;
  startMs: number;
  durationMs: number | null;
  headersMs: number | null;
  connection: {
    lookupMs: number | null;
    connectMs: number | null;
    tlsMs: number | null;
    /** All of it in one, where the parts are not told. */
    allMs?: number;
  } | null;
  /** To the sending of the request; absent where it is not told. */
  sentMs?: number;
  /** Sent over a connection that was there before; absent where it is not told. */
  reused?: boolean;
  requestHeaders: HeaderRow[];
  responseHeaders: HeaderRow[];
  error: string | null;
  link: string | null;
  caller: string | null;
}

export interface HttpClientData {
  calls: CallEntry[];
  totals: { calls: number; hosts: number; failed: number; durationMs: number; busyMs: number };
}

function pairs(headers: readonly string[]): HeaderRow[] {
  return Array.from({ length: Math.floor(headers.length / 2) }, (_, index) => ({
    name: headers[2 * index] ?? '',
    value: headers[2 * index + 1] ?? '',
  }));
}

function hostOf(url: string): string {
  return /^[a-z]+:\/\/([^/?#]*)/i.exec(url)?.[1] ?? '';
}

function partsOf(parts: NonNullable<Facts['call']['connection']>): CallEntry['connection'] {
  const { lookupMs, connectMs, tlsMs, allMs } = parts;
  return {
    lookupMs: roundOrNull(lookupMs),
    connectMs: roundOrNull(connectMs),
    tlsMs: roundOrNull(tlsMs),
    ...(typeof allMs === 'number' ? { allMs: round(allMs) } : {}),
  };
}

function collect(context: Context): HttpClientData | null {
  const facts = context.all('call');
  if (facts.length === 0) return null;
  const calls = facts.map((fact): CallEntry => {
    const { connection } = fact;
    return {
      method: fact.method,
      url: fact.url,
      client: fact.client,
      status: fact.status,
      startMs: round(fact.startMs),
      durationMs: roundOrNull(fact.durationMs),
      headersMs: roundOrNull(fact.headersMs),
      connection: connection === null ? null : partsOf(connection),
      ...(typeof fact.sentMs === 'number' ? { sentMs: round(fact.sentMs) } : {}),
      ...(fact.reused === undefined ? {} : { reused: fact.reused }),
      requestHeaders: pairs(fact.requestHeaders),
      responseHeaders: pairs(fact.responseHeaders),
      error: fact.error,
      link: fact.link,
      caller: fact.caller,
    };
  });
  return {
    calls,
    totals: {
      calls: calls.length,
      hosts: new Set(calls.map(({ url }) => hostOf(url))).size,
      failed: calls.filter(isFailed).length,
      durationMs: round(calls.reduce((total, { durationMs }) => total + (durationMs ?? 0), 0)),
      busyMs: round(coveredMs(facts)),
    },
  };
}

export function createHttpClientPanel(): Panel<HttpClientData> {
  return {
    name: 'http_client',
    title: 'HTTP client',
    key: 'c',
    toolbar: { rank: 40, label: 'outgoing' },
    comparable: comparableCalls,
    collect,
    summary: ({ totals }) => ({
      text: String(totals.calls),
      tone: totals.failed > 0 ? 'warn' : 'plain',
      count: totals.calls,
    }),
    draw: presentCalls,
    preview: previewCalls,
  };
}
