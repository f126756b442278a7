/** A whole response written directly to the socket, for requests that Node never completed: same headers as any other error. */
import { ROBOTS_HEADER, securityHeaders } from './security-headers.ts';
import { STATUS_CODES } from '../node-http.ts';

export interface RawResponse {
  status: number;
  html: string;
  requestId: string;
  /** Absent if nothing is recorded. */
  tokens: { token: string; link: string; childToken: string | null } | null;
  /** Further headers, such as Allow. */
  headers?: readonly (readonly [string, string])[];
  /** The page loads nothing. */
  bare: boolean;
}

/** A line break in a value would end the header. */
function safe(value: string): string {
  return value.replace(/[^\t\x20-\x7e\x80-\xff]/g, '');
}

export function printRawResponse({
  status,
  html,
  requestId,
  tokens,
  headers = [],
  bare,
}: RawResponse): Buffer {
  const body = Buffer.from(html);
  const lines: (readonly [string, string])[] = [
    ...headers,
    ['cache-control', 'no-cache, private'],
    ['content-type', 'text/html; charset=UTF-8'],
    ['date', new Date().toUTCString()],
    ROBOTS_HEADER,
    ['x-request-id', requestId],
    ...securityHeaders({ bare }),
  ];
  if (tokens !== null) {
    lines.push(['x-debug-token', tokens.token], ['x-debug-token-link', tokens.link]);
    if (tokens.childToken !== null) lines.push(['x-previous-debug-token', tokens.childToken]);
  }
  lines.push(['content-length', String(body.length)], ['connection', 'close']);
  const head = lines.map(([name, value]) => `${name}: ${safe(value)}\r\n`).join('');
  return Buffer.concat([
    Buffer.from(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Error'}\r\n${head}\r\n`, 'latin1'),
    body,
  ]);
}
