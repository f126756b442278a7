/**
 * A profile as HAR 1.2, which browsers and HTTP tools open: the request, then its outgoing calls. Unknown sizes and optional times
 * are -1; `send` must not be negative (http://www.softwareishard.com/blog/har-12-spec/#timings), so it is 0.
 */
import type { Profile } from '../profiler/profile.ts';
import type { RequestPanelData, Response } from '../panels/request/data.ts';
import { dataOf } from '../panels/shared/panel-data.ts';
import { callEntry } from './har-call.ts';
import { commentOf, headerOf, requestTimings, timeOf } from './har-fields.ts';

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

function contentOf({ headers, contentType, bytes, text, truncated, toolbarBytes }: Response) {
  const isEncoded = headerOf(headers, 'content-encoding') !== '';
  return {
    size: isEncoded ? -1 : bytes - toolbarBytes,
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
