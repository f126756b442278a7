/**
 * A request as a curl command for a POSIX shell, one option per line. Recorded text is in single quotes, in which a shell interprets
 * nothing. `-X` is used only if curl would choose another method. Masked values stay masked.
 */
import type { NamedValue } from '../../profiler/record/raw-headers.ts';

/** curl writes its own. */
const OF_CURL = new Set([
  'host', 'content-length', 'connection', 'transfer-encoding', 'keep-alive', 'expect', 'accept-encoding',
]); // prettier-ignore

export interface CurlRequest {
  method: string;
  /** With its origin. */
  url: string;
  headers: readonly NamedValue[];
  /** Options that send the body; empty: it has none. */
  body: readonly string[];
  more?: readonly string[];
}

/** One word: nothing is interpreted inside single quotes. */
export function shellQuote(text: string): string {
  return `'${text.replaceAll('\0', '').replaceAll("'", "'\\''")}'`;
}

function methodOption(method: string, hasBody: boolean): string[] {
  if (method === 'HEAD' && !hasBody) return ['--head'];
  if (method === (hasBody ? 'POST' : 'GET')) return [];
  return [`-X ${/^[A-Z]+$/.test(method) ? method : shellQuote(method)}`];
}

function headerOption({ name, value }: NamedValue): string[] {
  const key = name.toLowerCase();
  if (key === 'accept-encoding' && value !== '') return ['--compressed'];
  return OF_CURL.has(key) ? [] : [`-H ${shellQuote(value === '' ? `${name};` : `${name}: ${value}`)}`];
}

/** The options that send this text. */
export function textBody(text: string, contentType: string | null): string[] {
  // curl would add the type of a form.
  const untyped = contentType === null ? [`-H ${shellQuote('Content-Type:')}`] : [];
  return [...untyped, `--data-raw ${shellQuote(text)}`];
}

export function curlLines({ method, url, headers, body, more = [] }: CurlRequest): string[] {
  const options = [
    ...more,
    // Brackets and braces are patterns to curl.
    ...(/[[\]{}]/.test(url) ? ['--globoff'] : []),
    ...(/\/\.{1,2}(?:[/?]|$)/.test(url) ? ['--path-as-is'] : []),
    ...methodOption(method, body.length > 0),
    ...headers.flatMap(headerOption),
    ...body,
  ];
  const lines = [`curl ${shellQuote(url)}`, ...options.map((option) => `  ${option}`)];
  return lines.map((line, index) => (index < lines.length - 1 ? `${line} \\` : line));
}
