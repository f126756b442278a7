/** An outgoing call as an entry of a HAR. Its HTTP version is not recorded. */
import type { CallBodyEntry, CallEntry } from '../panels/http-client/data.ts';
import { callTimings, commentOf, headerOf, timeOf } from './har-fields.ts';

/** null if it was not recorded as a whole. */
function wholeText(body: CallBodyEntry | undefined): string | null {
  return body === undefined || body.truncated ? null : body.text;
}

export function callEntry(startedAt: number, call: CallEntry) {
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
