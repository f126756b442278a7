/**
 * A profile as HAR 1.2, which browsers and HTTP tools open: the request, then its outgoing calls. Unknown sizes and optional times
 * are -1; `send` must not be negative (http://www.softwareishard.com/blog/har-12-spec/#timings), so it is 0.
 */
import type { Profile } from '../profiler/profile.ts';
import type { RequestPanelData, Response } from '../panels/request/data.ts';
import { dataOf } from '../panels/shared/panel-data.ts';
import type { CallBodyEntry, CallEntry } from '../panels/http-client/data.ts';
import { namedHeader, type NamedValue } from '../profiler/record/raw-headers.ts';

function wholeText(body: CallBodyEntry | undefined): string | null {
  return body === undefined || body.truncated ? null : body.text;
}

function callEntry(startedAt: number, call: CallEntry) {
  const { method, url, status, error, requestHeaders, responseHeaders } = call;
  const query = /\?([^#]*)/.exec(url)?.[1] ?? '';
  const length = headerOf(responseHeaders, 'content-length');
  const timings = callTimings(call);
  const sent = wholeText(call.requestBody);
  const received = wholeText(call.responseBody);
  return {
    startedDateTime: new Date(startedAt + call.startMs).toISOString(),
    time: timeOf(timings),
    request: {
      method,
      url,
      httpVersion: 'unknown',
      cookies: [],
      headers: requestHeaders,
      queryString: Array.from(new URLSearchParams(query), ([name, value]) => ({ name, value })),
      headersSize: -1,
      bodySize: call.requestBody?.bytes ?? -1,
      ...(sent === null
        ? {}
        : { postData: { mimeType: headerOf(requestHeaders, 'content-type'), params: [], text: sent } }),
    },
    response: {
      status: status ?? 0,
      statusText: '',
      httpVersion: 'unknown',
      cookies: [],
      headers: responseHeaders,
      content: {
        size: received === null ? -1 : Buffer.byteLength(received),
        mimeType: headerOf(responseHeaders, 'content-type'),
        ...(received === null ? {} : { text: received }),
      },
      redirectURL: headerOf(responseHeaders, 'location'),
      headersSize: -1,
      bodySize: /^\d{1,15}$/.test(length) ? Number(length) : -1,
      ...commentOf(error),
    },
    cache: {},
    timings,
    ...commentOf(call.durationMs === null ? 'The call had not ended.' : null),
  };
}

function headerOf(headers: readonly NamedValue[], name: string): string {
  return namedHeader(headers, name) ?? '';
}

function commentOf(text: string | null): { comment?: string } {
  return text === null ? {} : { comment: text };
}

const SENDING = 'Sending is counted as waiting.';

/** Without the noise of adding floating-point numbers. */
function plain(ms: number): number {
  return Math.round(Math.max(0, ms) * 1000) / 1000;
}

function requestTimings(headersAtMs: number | null, durationMs: number | null) {
  const wait = headersAtMs ?? durationMs ?? 0;
  return {
    blocked: -1,
    dns: -1,
    connect: -1,
    ssl: -1,
    send: 0,
    wait: plain(wait),
    receive: plain((durationMs ?? wait) - wait),
    comment: SENDING,
  };
}

type Times = Pick<CallEntry, 'connection' | 'sentMs' | 'headersMs' | 'durationMs'>;

export function callTimings({ connection, sentMs, headersMs, durationMs }: Times) {
  const { lookupMs = null, connectMs = null, tlsMs = null, allMs } = connection ?? {};
  const dns = lookupMs ?? 0;
  const isKnown = connectMs !== null || tlsMs !== null;
  const opening = isKnown ? (connectMs ?? 0) + (tlsMs ?? 0) : (allMs ?? 0);
  const blocked = sentMs === undefined ? 0 : Math.max(0, sentMs - dns - opening);
  const end = headersMs ?? durationMs ?? 0;
  return {
    blocked: sentMs === undefined ? -1 : plain(blocked),
    dns: lookupMs === null ? -1 : plain(dns),
    // HAR counts TLS as part of connecting.
    connect: isKnown || allMs !== undefined ? plain(opening) : -1,
    ssl: tlsMs === null ? -1 : plain(tlsMs),
    send: 0,
    wait: plain(end - blocked - dns - opening),
    receive: plain((durationMs ?? end) - end),
    comment: SENDING,
  };
}

/** The sum of the known parts, as HAR demands; `ssl` is within `connect`. */
export function timeOf({
  blocked,
  dns,
  connect,
  send,
  wait,
  receive,
}: ReturnType<typeof callTimings>): number {
  return plain([blocked, dns, connect, send, wait, receive].reduce((sum, ms) => sum + Math.max(0, ms), 0));
}

type Body = NonNullable<RequestPanelData['body']>;

const TRUNCATED = 'Truncated: only the beginning was recorded.';

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function postDataOf({ contentType, fields, files, text, truncated }: Body) {
  const mimeType = contentType ?? '';
  if (text !== null) return { mimeType, params: [], text, ...commentOf(truncated ? TRUNCATED : null) };
  const params = [
    ...(fields ?? []).map(({ name, value }) => ({ name, value: textOf(value) })),
    ...files.map(({ field, name, contentType: type }) => ({
      name: field,
      fileName: name,
      contentType: type,
    })),
  ];
  return { mimeType, params, text: '', comment: 'The body was not recorded as text.' };
}

function contentOf({ headers, contentType, bytes, text, truncated }: Response) {
  const isEncoded = headerOf(headers, 'content-encoding') !== '';
  return {
    size: isEncoded ? -1 : bytes,
    mimeType: contentType ?? '',
    ...(text === null ? {} : { text }),
    ...commentOf(truncated ? TRUNCATED : null),
  };
}

function responseOf(profile: Profile, request: RequestPanelData) {
  const { response } = request;
  const headers = response?.headers ?? [];
  return {
    status: profile.status ?? 0,
    statusText: profile.statusMessage,
    httpVersion: `HTTP/${request.httpVersion}`,
    cookies: [],
    headers,
    content: response === null ? { size: -1, mimeType: '' } : contentOf(response),
    redirectURL: headerOf(headers, 'location'),
    headersSize: -1,
    bodySize: response?.bytes ?? -1,
    ...commentOf(response === null ? 'The response had not begun.' : null),
  };
}

function requestEntry(profile: Profile, data: RequestPanelData) {
  const origin = profile.origin ?? `${data.client.scheme}://localhost`;
  const timings = requestTimings(data.response?.headersAtMs ?? null, profile.durationMs);
  return {
    startedDateTime: new Date(profile.startedAt).toISOString(),
    time: timeOf(timings),
    request: {
      method: profile.method,
      url: /^[a-z][a-z0-9+.-]*:\/\//i.test(profile.url) ? profile.url : `${origin}${profile.url}`,
      httpVersion: `HTTP/${data.httpVersion}`,
      cookies: data.jar.map(({ name, length }) => ({
        name,
        value: '',
        comment: `Not recorded: ${length} characters.`,
      })),
      headers: data.headers,
      queryString: data.query,
      ...(data.body === null ? {} : { postData: postDataOf(data.body) }),
      headersSize: -1,
      bodySize: data.body?.bytes ?? 0,
    },
    response: responseOf(profile, data),
    cache: {},
    timings,
    ...commentOf(profile.durationMs === null ? 'The request had not ended.' : null),
  };
}

/** Without the first entry if the profile is of a job or a command. */
export function profileHar(profile: Profile, creator: { name: string; version: string }) {
  const request = dataOf(profile, 'request');
  const http = dataOf(profile, 'http_client');
  return {
    log: {
      version: '1.2',
      creator,
      entries: [
        ...(request === null ? [] : [requestEntry(profile, request)]),
        ...(http?.calls ?? []).map((call) => callEntry(profile.startedAt, call)),
      ],
    },
  };
}
