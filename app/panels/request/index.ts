/**
 * The request panel: request and response with headers in order and case as sent, and which layer set which header. Rows are { name, value },
 * which the recorder masks by name. Values of cookies are not recorded, and multipart bodies
 * only as parsed: both contain secrets under names that no rule knows, and raw text would show what the rows hide.
 */
import { round } from '../../profiler/read/span.ts';
import type { Context } from '../../profiler/record/context.ts';
import type { BodyFact, RequestFact, ResponseFact, RouteFact } from '../../profiler/record/facts.ts';
import type { Panel, RecordReader } from '../../profiler/panel.ts';
import { parsedBodyOf } from '../../profiler/record/parsed-body.ts';
import { toPlain } from '../../profiler/record/plain.ts';
import { type NamedValue, pairHeaders, rawHeader } from '../../profiler/record/raw-headers.ts';
import type { KeptRequest, ReceivedBody, RequestPanelData, Response } from './data.ts';
import { decodePreview, mediaTypeOf, storedText } from '../../profiler/http-text.ts';
import { partNames } from '../shared/form-parts.ts';
import { noRequest, presentRequest } from './present.ts';
import { markOf, readSessionAndUser } from './session-and-user.ts';
import { tokenTimesOf } from './token-times.ts';
import { withoutToolbar } from './toolbar-absence.ts';
import { headerAuthors, layerName, type NamedAuthors } from '../shared/header-authors.ts';
import { authorsOf, layersOf } from '../shared/kept-panels.ts';

const MOST_PAIRS = 500;

function pairsOf(query: string): NamedValue[] {
  return Array.from(new URLSearchParams(query), ([name, value]) => ({ name, value })).slice(0, MOST_PAIRS);
}

function readJar(headers: readonly NamedValue[]): RequestPanelData['jar'] {
  return headers
    .filter(({ name }) => name.toLowerCase() === 'cookie')
    .flatMap(({ value }) => value.split(';'))
    .map((pair) => pair.trim())
    .filter((pair) => pair !== '')
    .slice(0, MOST_PAIRS)
    .map((pair) => {
      const at = pair.indexOf('=');
      return at === -1
        ? { name: '', length: pair.length }
        : { name: pair.slice(0, at), length: pair.length - at - 1 };
    });
}

/** `X-Api-Key`, `X-Partner-Token`; not what is another one for each request. */
const CREDENTIALS =
  /^(?:authorization|x-(?!.*(?:csrf|xsrf|idempotency|request|cache|trace|debug))(?:[\w-]+-)?(?:key|token))$/i;

function credentialsMark(headers: readonly NamedValue[]): string | undefined {
  const sent = headers.filter(({ name }) => CREDENTIALS.test(name));
  return sent.length === 0 ? undefined : markOf(sent.map(({ value }) => value).join('\n'));
}

function readClient({ remoteAddress, remotePort, origin }: RequestFact): KeptRequest['client'] {
  const { scheme, chain, trusted, hostError } = origin;
  return { peer: remoteAddress, port: remotePort, scheme, chain: [...chain], trusted, hostError };
}

function readParams(route: RouteFact | undefined): RequestPanelData['routeParams'] {
  if (route === undefined) return [];
  return Object.keys(route.params).map((name) => ({ name, value: toPlain(route.params[name]) }));
}

const BYTE_ORDER_MARK = Buffer.from('\uFEFF');

/** In the recorded beginning of a multipart body; of a part that is not found in it, nothing is said. */
function hasByteOrderMark(preview: Buffer, name: string): boolean {
  const part = preview.indexOf(`filename="${name}"`);
  const start = part === -1 ? -1 : preview.indexOf('\r\n\r\n', part);
  return start !== -1 && preview.subarray(start + 4, start + 7).equals(BYTE_ORDER_MARK);
}

function readBody(body: BodyFact, rawHeaders: readonly string[]): ReceivedBody | null {
  if (body.bytes === 0 && body.files.length === 0) return null;
  const { bytes, contentType, preview, truncated } = body;
  const { fields, parsed } = body.plain ?? parsedBodyOf(contentType, body.parsed);
  const encoding = rawHeader(rawHeaders, 'content-encoding');
  const files = body.files.map(({ field, name, ...file }) => ({
    field,
    name,
    contentType: file.contentType,
    bytes: file.bytes,
    ...(hasByteOrderMark(preview, name) ? { byteOrderMark: true as const } : {}),
  }));
  return {
    bytes,
    contentType,
    fields,
    parsed,
    files,
    ...(files.length === 0 ? {} : { partNames: partNames(preview, { contentType, fields, files }) }),
    text: storedText(preview, { contentType, encoding }),
    truncated,
    ...(body.unread === true ? { unread: true as const } : {}),
    ...(body.writtenAgain === undefined ? {} : { writtenAgain: body.writtenAgain }),
  };
}

/** The response; what the index row contains is not stored twice. */
function responseOf(kept: NonNullable<KeptRequest['response']>, from: RecordReader): Response {
  const { status, statusMessage, outcome } = from.profile;
  const ran = kept.refused.length === 0 ? [] : layersOf(from.profile);
  const nameOf = (layer: number): string | null => {
    const found = ran[layer];
    return found === undefined ? null : layerName(found);
  };
  const { setBy: _setBy, ...response } = kept;
  let authors: NamedAuthors | null | undefined;
  return {
    ...response,
    // Shown by two panels, and derived from what a third one stores.
    get authors() {
      if (authors === undefined) authors = authorsOf(from);
      return authors;
    },
    status,
    statusMessage,
    outcome,
    refused: kept.refused.map(({ layer, ...write }) => ({ ...write, by: nameOf(layer) })),
  };
}

function dataOf(from: RecordReader<KeptRequest>): RequestPanelData | null {
  const kept = from.collected;
  if (kept === null) return null;
  const { method, url, requestId, clientAddress, origin } = from.profile;
  return {
    ...kept,
    method,
    url,
    requestId,
    client: { ...kept.client, address: clientAddress, origin },
    response: kept.response === undefined ? null : responseOf(kept.response, from),
  };
}

/** Browsers ignore a cookie whose name and value have more (RFC 6265bis). */
const MOST_COOKIE_BYTES = 4096;

/** Cookies that browsers ignore; undefined if there are none. */
function oversizedIn(headers: readonly NamedValue[]): { name: string; bytes: number }[] | undefined {
  const found = headers.flatMap(({ name, value }) => {
    if (value.length <= MOST_COOKIE_BYTES || name.toLowerCase() !== 'set-cookie') return [];
    const [pair = ''] = value.split(';', 1);
    const bytes = Buffer.byteLength(pair.replace('=', '').trim());
    return bytes > MOST_COOKIE_BYTES ? [{ name: pair.split('=', 1)[0] ?? '', bytes }] : [];
  });
  return found.length === 0 ? undefined : found;
}

function readResponse(response: ResponseFact, context: Context): KeptRequest['response'] {
  const { rawHeaders, headerWrites, refused = [], headersAtMs, endedAtMs } = response;
  const contentType = rawHeader(rawHeaders, 'content-type');
  const layers = context.all('layer');
  const toolbar = context.first('toolbar');
  const sent = decodePreview(response.preview, {
    contentType,
    encoding: rawHeader(rawHeaders, 'content-encoding'),
  });
  const body = withoutToolbar(sent, toolbar?.tag ?? '');
  const headers = pairHeaders(rawHeaders).map((header) =>
    body.leftOut > 0 && header.name.toLowerCase() === 'content-length'
      ? { ...header, value: String(Number(header.value) - body.leftOut) }
      : header,
  );
  return {
    headers,
    oversized: oversizedIn(headers),
    setBy: headerAuthors({ rawHeaders, headerWrites, layers }),
    refused: refused.map(({ layer, ...write }) => ({
      ...write,
      atMs: round(write.atMs),
      layer: layers.findIndex((fact) => fact === layer),
    })),
    headersAtMs: headersAtMs === null ? null : round(headersAtMs),
    endedAtMs: typeof endedAtMs === 'number' ? round(endedAtMs) : undefined,
    sentFrom: response.sentFrom ?? undefined,
    nextFrom: response.nextFrom,
    isClosedHere: response.isClosedHere === true ? true : undefined,
    isFlushed:
      mediaTypeOf(contentType) === 'text/event-stream' && (response.pieces ?? 0) > 1 ? true : undefined,
    contentType,
    bytes: response.bodyBytes - body.leftOut,
    text: body.text,
    truncated: response.truncated,
    isErrorPage: response.isErrorPage === true,
    toolbarAbsent: toolbar?.absent ?? null,
    toolbarBytes: body.leftOut,
  };
}

function collect(context: Context): KeptRequest | null {
  const request = context.first('request');
  if (request === undefined) return null;
  const body = context.first('body');
  const response = context.first('response');
  const appLocals = context.all('appLocal');
  const headers = pairHeaders(request.rawHeaders);
  const at = request.url.indexOf('?');
  return {
    httpVersion: request.httpVersion,
    receivedRequestId: request.receivedRequestId,
    client: readClient(request),
    query: at === -1 ? [] : pairsOf(request.url.slice(at + 1)),
    routeParams: readParams(context.last('route')),
    headers,
    jar: readJar(headers),
    expiring: tokenTimesOf(headers),
    mark: credentialsMark(headers),
    body: body === undefined ? null : readBody(body, request.rawHeaders),
    sessionAndUser:
      context.kind === 'request' ? readSessionAndUser(request, response?.rawHeaders ?? []) : null,
    appLocals: appLocals.length === 0 ? undefined : appLocals,
    response: response === undefined ? undefined : readResponse(response, context),
  };
}

export const requestPanel: Panel<RequestPanelData, KeptRequest> = {
  name: 'request',
  title: 'Request',
  menu: { key: 'r', rank: false },
  recorded: {
    nothing: noRequest,
    spans({ response }, { endMs }) {
      const startMs = response?.headersAtMs ?? null;
      if (startMs === null) return [];
      const durationMs = Math.max(0, endMs - startMs);
      return [{ kind: 'sending', label: 'sending the response', startMs, durationMs }];
    },
  },
  collect,
  data: dataOf,
  rows: presentRequest,
};
