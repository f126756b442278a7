import { namedHeader } from '../../profiler/record/raw-headers.ts';
import type { PresentFrom } from '../../profiler/panel.ts';
import { parseJson } from '../../profiler/json.ts';
import { pathOf } from '../../profiler/request-target.ts';
import { STATUS_CODES } from '../../node-http.ts';
import type { Profile } from '../../profiler/profile.ts';
import { type Detail, jsonBlock, type Presentation, type Row } from '../../profiler/read/rows.ts';
import { bytesText, durationText } from '../../view-helpers/numbers.ts';
import { shareFigure, timeFigure } from '../shared/timeline-data.ts';
import { keptNote } from '../shared/unkept.ts';
import type { CallEntry, HttpClientData } from './data.ts';
import { hasFailed } from '../shared/failed-call.ts';
import { type CallGroup, groupCalls, redirectsOf } from './groups.ts';
import { totalMs } from '../shared/rows.ts';
import { isMasked } from '../../profiler/masking/redact.ts';
import { curlLines, textBody } from '../shared/curl.ts';

interface CurlCommand {
  lines: string[];
  lacks: string[];
}

/** Whether there was a body that is not recorded as a whole; the headers tell. */
function lacksBody({ requestHeaders, requestBody }: CallEntry): boolean {
  if (requestBody !== undefined) return requestBody.text === null || requestBody.truncated;
  return requestHeaders.some(
    ({ name, value }) => /^(?:content-length|content-type|transfer-encoding)$/i.test(name) && value !== '0',
  );
}

function curlOf(call: CallEntry): CurlCommand {
  const { method, url, requestHeaders: headers, requestBody } = call;
  const isLacking = lacksBody(call);
  const text = isLacking ? null : (requestBody?.text ?? null);
  const body = text === null ? [] : textBody(text, namedHeader(headers, 'content-type'));
  const lines = curlLines({ method, url, headers, body });
  const lacks = isLacking ? ['the body (not recorded)'] : [];
  if (lines.some(isMasked)) lacks.push('masked values');
  return { lines, lacks };
}

function errorName(error: string): string {
  const code =
    /\b(?:E[A-Z][A-Z_]{3,}|UND_ERR_[A-Z_]+|ERR_[A-Z_]+|CERT_[A-Z_]+|[A-Z_]*SELF_SIGNED[A-Z_]*)\b/.exec(error);
  return code?.[0] ?? /^[A-Za-z]\w{0,60}/.exec(error)?.[0] ?? 'failed';
}

const SHORTEST_QUEUE = 0.5;

interface CallPart {
  name: 'queue' | 'lookup' | 'connect' | 'tls' | 'wait' | 'read';
  label: string;
  ms: number;
}

/** The known parts in their order; their sum is at most the duration of the call. */
function partsOf({ connection, headersMs, durationMs, sentMs }: CallEntry): CallPart[] {
  const parts: CallPart[] = [];
  const add = (name: CallPart['name'], label: string, ms: number | null | undefined): void => {
    if (ms !== null && ms !== undefined) parts.push({ name, label, ms: Math.max(0, ms) });
  };
  add('lookup', 'DNS lookup', connection?.lookupMs);
  add('connect', 'Connect', connection?.connectMs);
  add('tls', 'TLS', connection?.tlsMs);
  if (parts.length === 0) add('connect', 'Connect (total)', connection?.allMs);
  const connecting = parts.reduce((total, { ms }) => total + ms, 0);
  if (sentMs !== undefined && sentMs - connecting >= SHORTEST_QUEUE)
    parts.unshift({ name: 'queue', label: 'Queued', ms: sentMs - connecting });
  if (headersMs === null) return parts;
  const before = parts.reduce((total, { ms }) => total + ms, 0);
  add('wait', 'Waiting for response', headersMs - before);
  if (durationMs !== null) add('read', 'Downloading', durationMs - headersMs);
  return parts;
}

/** Only http and https: the address comes from the called service, which is not trusted. */
function safeLink(link: string | null, base: string): string | null {
  if (link === null || link.length > 2000 || /[\s"'<>\\]/.test(link)) return null;
  const isPath = link.startsWith('/') && !link.startsWith('//') && URL.canParse(link, base);
  const whole = isPath ? new URL(link, base).href : link;
  return /^https?:\/\/[^/]/i.test(whole) ? whole : null;
}

/** A token only if the profile is of the same storage, or of this origin. */
function profileLink(
  { link, url }: CallEntry,
  { origin, called }: { origin: string | null; called: Profile | undefined },
): NonNullable<Detail['link']> | null {
  if (called !== undefined) return { label: called.token, token: called.token };
  const href = safeLink(link, url);
  if (href === null) return null;
  const own = /^(.*)\/_profiler\/([0-9a-f]{6})$/.exec(href);
  const token = own !== null && own[1] === origin ? own[2] : undefined;
  return token === undefined ? { label: href, href } : { label: token, token };
}

function bodyLines(body: CallEntry['requestBody']): string[] {
  if (body === undefined || body.text === null) return [];
  return ['', body.truncated ? `${body.text}…` : body.text];
}

function httpText(call: CallEntry): string {
  const { method, url, requestHeaders, status, responseHeaders } = call;
  const lines = (headers: CallEntry['requestHeaders']): string[] =>
    headers.map(({ name, value }) => `${name}: ${value}`);
  const response =
    status === null ? [] : ['', `HTTP ${status}`, ...lines(responseHeaders), ...bodyLines(call.responseBody)];
  return [`${method} ${url}`, ...lines(requestHeaders), ...bodyLines(call.requestBody), ...response].join(
    '\n',
  );
}

function statusText({ status, error }: CallEntry): string | null {
  if (status !== null) return String(status);
  return error === null ? 'no response' : null;
}

const MOST_BODY = 6000;

function bodyDetail(title: string, body: CallEntry['requestBody']): Detail[] {
  if (body === undefined) return [];
  const { bytes, text, truncated } = body;
  const size = bytesText(bytes);
  if (text === null) return [{ title, note: `${size}. Not shown: compressed, or a multipart form.` }];
  const parsed = /^\s*[[{]/.test(text) ? parseJson(text) : undefined;
  const block = parsed === undefined ? { text } : jsonBlock(parsed);
  const isCut = truncated || block.text.length > MOST_BODY;
  return [
    {
      title,
      note: isCut ? `${size}: the beginning; the rest was not recorded, or is in the JSON.` : size,
      block: { ...block, text: block.text.slice(0, MOST_BODY) },
    },
  ];
}

function headersDetail(title: string, headers: CallEntry['requestHeaders']): Detail[] {
  if (headers.length === 0) return [];
  return [{ title, fields: headers.map(({ name, value }) => ({ label: name, value })) }];
}

function detailOf(call: CallEntry, link: Detail['link'] | null): Detail[] {
  const parts = partsOf(call);
  const { lines, lacks } = curlOf(call);
  return [
    ...(link === null || link === undefined ? [] : [{ title: 'Profile', link }]),
    ...(parts.length === 0 ? [] : [{ title: 'Parts', parts }]),
    {
      title: 'As cURL',
      ...(lacks.length === 0 ? {} : { note: `Not included: ${lacks.join(', ')}.` }),
      block: { text: lines.join('\n'), language: 'sh' },
    },
    ...headersDetail('Request headers', call.requestHeaders),
    ...headersDetail('Response headers', call.responseHeaders),
    ...bodyDetail('Request body', call.requestBody),
    ...bodyDetail('Response body', call.responseBody),
  ];
}

function responseText(call: CallEntry): string | null {
  const { status, durationMs } = call;
  if (status === null) return null;
  const length = Number(namedHeader(call.responseHeaders, 'content-length') ?? NaN);
  const parts = [
    `${status} ${STATUS_CODES[status] ?? ''}`.trim(),
    namedHeader(call.responseHeaders, 'content-type')?.slice(0, 100) ?? '',
    Number.isInteger(length) && length >= 0 ? bytesText(length) : '',
    durationMs === null ? 'not read completely' : '',
  ];
  return parts.filter((part) => part !== '').join(', ');
}

function connectionText({ client, connection, reused }: CallEntry): string {
  const by = client === 'fetch' ? 'fetch or undici' : `node:${client}`;
  if (reused) return `${by}, reused connection`;
  return connection === null ? by : `${by}, new connection`;
}

interface Presenting {
  profile: Profile;
  called: PresentFrom['called'];
  redirects: ReadonlyMap<number, number>;
  groupAt: ReadonlyMap<number, number>;
}

function rowOf(call: CallEntry, index: number, presenting: Presenting): Row {
  const { method, url, startMs, durationMs, status, error, link, caller, path } = call;
  const { profile, called, redirects, groupAt } = presenting;
  const id = `c${index + 1}`;
  const failed = hasFailed(call);
  const parts = partsOf(call).map(({ label, ms }) => `${label} ${durationText(ms)}`);
  const group = groupAt.get(index);
  const source = redirects.get(index);
  return {
    id,
    label: method,
    text: url,
    number: durationMs,
    tone: failed ? 'bad' : durationMs === null ? 'warn' : 'plain',
    badges: error !== null ? [errorName(error)] : failed ? ['failed'] : [],
    fields: [
      { label: 'Start', value: startMs, unit: 'at' },
      { label: 'Parts', value: parts.join(', ') || null },
      { label: 'Response', value: responseText(call) },
      { label: 'Sent by', value: connectionText(call) },
      { label: 'Redirected by', value: source === undefined ? null : `call ${source + 1}` },
      { label: 'Error', value: error },
      { label: 'Profile', value: link },
    ],
    note: statusText(call),
    place: caller,
    path,
    key: `${method} ${pathOf(url)}`,
    ...(error !== null || (status ?? 0) >= 400
      ? { block: { text: httpText(call), language: 'http' as const } }
      : {}),
    detail: () => detailOf(call, profileLink(call, { origin: profile.origin, called: called?.get(id) })),
    ...(group === undefined ? {} : { within: `r${group + 1}` }),
  };
}

const GROUP_LABELS = { retry: 'retried', repeated: 'repeated', loop: 'many calls' } as const;

function groupRow({ kind, members, url }: CallGroup, index: number, calls: readonly CallEntry[]): Row {
  const entries = members.flatMap((member) => calls[member] ?? []);
  const failed = entries.filter(hasFailed).length;
  const callers = new Set(entries.map(({ caller }) => caller));
  const statuses = new Set(entries.map(({ status }) => status));
  const [first] = entries;
  return {
    id: `r${index + 1}`,
    label: first?.method ?? '',
    text: url,
    times: members.length,
    number: totalMs(entries),
    tone: failed > 0 ? 'bad' : 'warn',
    badges: [GROUP_LABELS[kind], ...(failed > 0 ? [`${failed} failed`] : [])],
    note: statuses.size === 1 && first?.status ? String(first.status) : null,
    place: callers.size === 1 ? (first?.caller ?? null) : null,
  };
}

export function presentCalls(
  { calls, unkept, totals }: HttpClientData,
  { profile, called }: PresentFrom,
): Presentation {
  const groups = groupCalls(calls);
  const presenting: Presenting = {
    profile,
    called,
    redirects: redirectsOf(calls),
    groupAt: new Map(groups.flatMap(({ members }, at) => members.map((index) => [index, at] as const))),
  };
  const refused = calls.filter((call) => !hasFailed(call) && (call.status ?? 0) >= 400).length;
  return {
    figures: [
      { label: 'Outgoing calls', value: totals.calls, note: keptNote(calls.length, unkept), compare: 'cost' },
      { label: 'Hosts', value: totals.hosts },
      {
        label: 'Failed',
        value: totals.failed,
        tone: totals.failed > 0 ? 'bad' : 'plain',
        // Of calls that are only counted, the status is unknown.
        note: refused === 0 || unkept !== undefined ? undefined : `${refused} answered with 4xx`,
      },
      timeFigure(profile, 'out', 'Time in outgoing calls'),
      shareFigure(profile, 'out'),
      timeFigure(profile, 'socket'),
    ],
    sections: [
      {
        id: 'repeated',
        title: 'Repeated calls',
        columns: { label: 'Method', text: 'URL', badges: 'Kind', note: 'Status', place: 'Called from' },
        rows: groups.map((group, index) => groupRow(group, index, calls)),
        card: 'largest',
        inPage: false,
      },
      {
        id: 'calls',
        title: 'Outgoing calls',
        note: 'in the order they were made',
        columns: { label: 'Method', text: 'URL', badges: 'Failure', note: 'Status', place: 'Called from' },
        rows: calls.map((call, index) => rowOf(call, index, presenting)),
        card: 'largest',
        bars: 'out',
      },
    ],
  };
}
