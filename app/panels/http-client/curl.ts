/** An outgoing call as a command that a shell reads as it was meant. */
import { MASK } from '../../profiler/redact.ts';
import type { CallEntry } from './index.ts';

/** Set by the client itself; curl sets its own. */
const OWN_HEADERS = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'accept-encoding']);

export interface CurlCommand {
  /** Lines that end with a backslash, and the last one. */
  lines: string[];
  /** What it lacks, in words. */
  lacks: string[];
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function methodOf(method: string): string {
  if (method === 'GET') return '';
  return method === 'HEAD' ? ' --head' : ` -X ${quoted(method)}`;
}

/** A body that went out with it, of which the type may be all that is told; bodies are not recorded. */
function hadBody({ requestHeaders }: CallEntry): boolean {
  return requestHeaders.some(
    ({ name, value }) => /^(?:content-length|content-type|transfer-encoding)$/i.test(name) && value !== '0',
  );
}

export function curlOf(call: CallEntry): CurlCommand {
  const { method, url, requestHeaders } = call;
  // Brackets and braces in an address are patterns to curl.
  const globbing = /[[\]{}]/.test(url) ? ' --globoff' : '';
  const packed = requestHeaders.some(({ name }) => name.toLowerCase() === 'accept-encoding');
  const parts = [`curl${methodOf(method)}${globbing}${packed ? ' --compressed' : ''} ${quoted(url)}`];
  for (const { name, value } of requestHeaders) {
    if (!OWN_HEADERS.has(name.toLowerCase())) parts.push(`  -H ${quoted(`${name}: ${value}`)}`);
  }
  const lacks: string[] = [];
  if (hadBody(call)) lacks.push('the body, which is not recorded');
  if (parts.some((part) => part.includes(MASK))) lacks.push('what was masked');
  return { lines: parts.map((part, index) => (index === parts.length - 1 ? part : `${part} \\`)), lacks };
}
