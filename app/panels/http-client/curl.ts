/** An outgoing call as a cURL command, quoted for a POSIX shell. */
import { isMasked } from '../../profiler/redact.ts';
import type { CallEntry } from './data.ts';
import { shellQuote } from '../shared/shell.ts';

/** Set by the HTTP client; curl sets its own. */
const OWN_HEADERS = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'accept-encoding']);

export interface CurlCommand {
  /** All but the last end with a backslash. */
  lines: string[];
  /** What is missing from the command. */
  lacks: string[];
}

function methodOf(method: string): string {
  if (method === 'GET') return '';
  return method === 'HEAD' ? ' --head' : ` -X ${shellQuote(method)}`;
}

/** Whether there was a body that is not recorded as a whole; the headers tell. */
function lacksBody({ requestHeaders, requestBody }: CallEntry): boolean {
  if (requestBody !== undefined) return requestBody.text === null || requestBody.truncated;
  return requestHeaders.some(
    ({ name, value }) => /^(?:content-length|content-type|transfer-encoding)$/i.test(name) && value !== '0',
  );
}

export function curlOf(call: CallEntry): CurlCommand {
  const { method, url, requestHeaders } = call;
  // Brackets and braces in an address are patterns to curl.
  const globbing = /[[\]{}]/.test(url) ? ' --globoff' : '';
  const packed = requestHeaders.some(({ name }) => name.toLowerCase() === 'accept-encoding');
  const parts = [`curl${methodOf(method)}${globbing}${packed ? ' --compressed' : ''} ${shellQuote(url)}`];
  for (const { name, value } of requestHeaders) {
    if (!OWN_HEADERS.has(name.toLowerCase())) parts.push(`  -H ${shellQuote(`${name}: ${value}`)}`);
  }
  const lacks: string[] = [];
  if (call.requestBody !== undefined && !lacksBody(call))
    parts.push(`  --data-raw ${shellQuote(call.requestBody.text ?? '')}`);
  if (lacksBody(call)) lacks.push('the body (not recorded)');
  if (parts.some(isMasked)) lacks.push('masked values');
  return { lines: parts.map((part, index) => (index === parts.length - 1 ? part : `${part} \\`)), lacks };
}
