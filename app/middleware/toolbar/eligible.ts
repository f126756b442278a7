/** Decides which requests ask for a document, and which responses are documents that can get the tag. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';

import { isEncoded } from '../../profiler/http-text.ts';
import { valueText } from '../head-arguments.ts';

export type Refusal = NonNullable<ReturnType<typeof refusalOf>>;

/** Sent by scripts that insert the response into an existing page, or request a part of a page. */
const PARTIAL = [
  'x-requested-with', 'hx-request', 'turbo-frame', 'x-turbo-request-id', 'x-pjax', 'x-inertia', 'x-up-version', 'x-livewire',
  'x-alpine-request', 'datastar-request', 'range', 'service-worker', 'upgrade',
] as const; // prettier-ignore

/** Charsets in which HTML's syntax characters are always the same bytes as in ASCII. */
const ASCII_BASED =
  /^(?:utf-?8|(?:us-)?ascii|iso-?8859-\d+(?:-[ei])?|latin-?\d|l\d|windows-\d+|cp125\d|x-cp125\d|koi8-[ru]|macintosh|x-mac-cyrillic|gbk|gb2312|gb18030|big5(?:-hkscs)?|shift[_-]jis|sjis|ms_kanji|euc-(?:jp|kr)|ks_c_5601-1987|tis-620)$/i;

/** Headers that depend on the bytes of the body. */
const DIGESTS = ['content-md5', 'digest', 'content-digest', 'repr-digest', 'signature', 'signature-input'];

function acceptsHtml(accept: string | undefined): boolean {
  const found = /(?:^|,)\s*text\/html\s*(;[^,]*)?(?:,|$)/i.exec(accept ?? '');
  return found !== null && !/;\s*q=0(?:\.0*)?\s*(?:;|$)/i.test(found[1] ?? '');
}

/** A browser shows it in its window. `Sec-Fetch-Dest` is missing without TLS, except to localhost: then `Accept` must name HTML. */
export function asksForDocument({
  method,
  headers,
}: Pick<IncomingMessage, 'method'> & { headers: IncomingHttpHeaders }): boolean {
  if (method === 'HEAD' || method === 'OPTIONS') return false;
  const dest = headers['sec-fetch-dest'];
  const mode = headers['sec-fetch-mode'];
  if (dest === undefined) {
    if ((mode !== undefined && mode !== 'navigate') || !acceptsHtml(headers.accept)) return false;
    // A service worker that forwards a navigation sends `empty`.
  } else if (dest !== 'document' && !(dest === 'empty' && mode === 'navigate')) return false;
  return PARTIAL.every((name) => headers[name] === undefined);
}

export function headerText(res: ServerResponse, name: string): string {
  return valueText(res.getHeader(name));
}

export function isHtmlResponse(res: ServerResponse): boolean {
  const { statusCode } = res;
  const isShown =
    (statusCode >= 200 && statusCode < 300 && statusCode !== 204 && statusCode !== 205) || statusCode >= 400;
  return isShown && /^\s*text\/html\s*(?:;|$)/i.test(headerText(res, 'content-type'));
}

/** Whether the length of the body can't be changed any more, or can't be read. */
function isLengthFixed(res: ServerResponse): boolean {
  const length = headerText(res, 'content-length');
  if (length !== '' && (res.headersSent || !/^\d{1,15}$/.test(length))) return true;
  // Passed to `writeHead`, so it can't be read.
  const block: unknown = (res as ServerResponse & { _header?: unknown })._header;
  return typeof block === 'string' && /\r\n(?:content-length|content-encoding)\s*:/i.test(block);
}

export function refusalOf(res: ServerResponse) {
  const has = (name: string): boolean => res.hasHeader(name);
  if (res.statusCode === 206 || has('content-range')) return 'range';
  if (has('content-encoding') && isEncoded(headerText(res, 'content-encoding'))) return 'encoded';
  if (has('transfer-encoding') && !/^\s*chunked\s*$/i.test(headerText(res, 'transfer-encoding')))
    return 'encoded';
  if (/^\s*attachment\b/i.test(headerText(res, 'content-disposition'))) return 'attachment';
  if (/(?:^|,)\s*no-transform\s*(?:,|$)/i.test(headerText(res, 'cache-control'))) return 'no-transform';
  if (DIGESTS.some(has) || /digest|md5|signature/i.test(headerText(res, 'trailer'))) return 'digest';
  const [, charset] = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(headerText(res, 'content-type')) ?? [];
  if (charset !== undefined && !ASCII_BASED.test(charset)) return 'charset';
  const asked = `${headerText(res, 'integrity-policy')},${headerText(res, 'integrity-policy-report-only')}`;
  if (/\bscript\b/i.test(asked)) return 'integrity-policy';
  return isLengthFixed(res) ? 'announced' : null;
}
