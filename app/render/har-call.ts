/** An outgoing call as an entry of a HAR. Bodies of calls and their HTTP version are not recorded. */
import type { NamedValue } from '../profiler/raw-headers.ts';
import { commentOf, headerOf } from './har-fields.ts';
import { callTimings, type StoredCallTimes, timeOf } from './har-timings.ts';

/** What is read of a call of the panel http_client. */
export interface StoredCall extends StoredCallTimes {
  method: string;
  url: string;
  status: number | null;
  startMs: number;
  requestHeaders: NamedValue[];
  responseHeaders: NamedValue[];
  error: string | null;
}

export function callEntry(startedAt: number, call: StoredCall) {
  const { method, url, status, error, requestHeaders, responseHeaders } = call;
  const query = /\?([^#]*)/.exec(url)?.[1] ?? '';
  const length = headerOf(responseHeaders, 'content-length');
  const timings = callTimings(call);
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
      bodySize: -1,
    },
    response: {
      status: status ?? 0,
      statusText: '',
      httpVersion: 'unknown',
      cookies: [],
      headers: responseHeaders,
      content: { size: -1, mimeType: headerOf(responseHeaders, 'content-type') },
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
