/** The panel of outgoing calls: what was asked of whom, how long each part took, and the profile of the called service. */
import type { Context } from '../profiler/context.ts';
import type { Panel, PanelPage } from '../profiler/panel.ts';
import { comparableCalls } from './http-client/comparable.ts';
import { addressOf, coveredMs, pageOf, round, roundOrNull } from './shared/rows.ts';

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
  connection: { lookupMs: number | null; connectMs: number | null; tlsMs: number | null } | null;
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

function isFailed({ status, error }: Pick<CallEntry, 'status' | 'error'>): boolean {
  return error !== null || (status !== null && status >= 500);
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
      connection:
        connection === null
          ? null
          : {
              lookupMs: roundOrNull(connection.lookupMs),
              connectMs: roundOrNull(connection.connectMs),
              tlsMs: roundOrNull(connection.tlsMs),
            },
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

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Set by the client itself; curl sets its own. */
const OWN_HEADERS = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'accept-encoding']);

function curlOf({ method, url, requestHeaders }: CallEntry): string[] {
  const parts = [`curl${method === 'GET' ? '' : ` -X ${quoted(method)}`} ${quoted(url)}`];
  for (const { name, value } of requestHeaders) {
    if (!OWN_HEADERS.has(name.toLowerCase())) parts.push(`  -H ${quoted(`${name}: ${value}`)}`);
  }
  return parts.map((part, index) => (index === parts.length - 1 ? part : `${part} \\`));
}

/** Only an address that a browser opens as a page: what a service answered is not to be trusted. */
function safeLink(link: string | null): string | null {
  return link !== null && /^https?:\/\/[^\s"'<>]{1,2000}$/i.test(link) ? link : null;
}

/** The parts that are known, in their order; what is left is the body. */
function partsOf({ connection, headersMs, durationMs }: CallEntry): { label: string; ms: number }[] {
  const parts = [
    { label: 'Name lookup', ms: connection?.lookupMs ?? null },
    { label: 'Connect', ms: connection?.connectMs ?? null },
    { label: 'TLS', ms: connection?.tlsMs ?? null },
  ].filter((part): part is { label: string; ms: number } => part.ms !== null);
  if (headersMs === null) return parts;
  const before = parts.reduce((total, { ms }) => total + ms, 0);
  parts.push({ label: 'Waiting for the answer', ms: Math.max(0, headersMs - before) });
  if (durationMs !== null) parts.push({ label: 'Reading it', ms: Math.max(0, durationMs - headersMs) });
  return parts;
}

function costOf({ url, requestHeaders, responseHeaders }: CallEntry): number {
  const headers = [...requestHeaders, ...responseHeaders];
  return (
    1800 +
    url.length * 3 +
    headers.reduce((total, { name, value }) => total + 110 + name.length + value.length * 2, 0)
  );
}

function present(data: HttpClientData, { query }: PanelPage) {
  const find = (query.find ?? '').slice(0, 200);
  const rows = data.calls
    .map((call, index) => ({ call, id: `c${index + 1}`, number: index + 1 }))
    .filter(({ call }) => `${call.method} ${call.url}`.toLowerCase().includes(find.toLowerCase()));
  const page = pageOf(rows, { query, cost: ({ call }) => costOf(call) });
  const link = (changes: Record<string, string | number | null>): string =>
    addressOf('http_client', { find, ...changes });
  return {
    find,
    clear: link({ find: null }),
    page: {
      ...page,
      rows: page.rows.map((row) => ({
        ...row,
        failed: isFailed(row.call),
        curl: curlOf(row.call),
        parts: partsOf(row.call),
        link: safeLink(row.call.link),
      })),
    },
    firstHref: link({}),
    nextHref: page.next === null ? null : link({ from: page.next }),
    allHref: link({ all: 1 }),
    slowestMs: Math.max(0, ...data.calls.map(({ durationMs }) => durationMs ?? 0)),
  };
}

export function createHttpClientPanel(): Panel<HttpClientData> {
  return {
    name: 'http_client',
    title: 'HTTP client',
    comparable: comparableCalls,
    collect,
    summary: ({ totals }) => ({
      text: String(totals.calls),
      tone: totals.failed > 0 ? 'warn' : 'plain',
      count: totals.calls,
    }),
    present,
  };
}
