/**
 * The request panel: what came in and what went out, in order and with true case.
 *
 * Facts request, body, response and route -> rows of { name, value }, which the recorder masks by their name. Response headers
 * that most answers have are shared. Values of
 * cookies are not recorded at all, and of multipart bodies only what a parser made of them: both hold secrets under names
 * that no rule can know, and their raw form would show what the rows hide.
 */
import type { Context } from '../profiler/context.ts';
import type { BodyFact, RequestFact, ResponseFact, RouteFact, UploadedFile } from '../profiler/facts.ts';
import type { DeriveFrom, Json, Panel } from '../profiler/panel.ts';
import { toPlain } from '../profiler/plain.ts';
import {
  decodePreview,
  headerValue,
  mediaTypeOf,
  pairHeaders,
  rawHeader,
  type NamedValue,
} from './request/http-text.ts';
import { leavesBodyOut, toCurl } from './request/curl.ts';
import {
  createHeaderSplit,
  mergeHeaders,
  type OwnHeaders,
  type SplitHeaders,
} from './shared/common-headers.ts';
import { round } from './shared/rows.ts';

export interface ReceivedBody {
  bytes: number;
  contentType: string | null;
  /** Fields of a form, in order; null where no parser made any. */
  fields: { name: string; value: Json }[] | null;
  /** What a parser made of it, where that is not a form. */
  parsed: Json | undefined;
  files: UploadedFile[];
  /** The first bytes as text; null where they are no text, or are not to be kept. */
  text: string | null;
  truncated: boolean;
}

export interface RequestPanelData {
  method: string;
  url: string;
  httpVersion: string;
  requestId: string;
  receivedRequestId: string | null;
  client: {
    address: string;
    peer: string;
    port: number;
    /** From the client to the peer, nearest last. */
    chain: string[];
    trusted: boolean;
    scheme: string;
    origin: string | null;
    hostError: string | null;
  };
  query: NamedValue[];
  routeParams: { name: string; value: Json }[];
  headers: NamedValue[];
  /** Received cookies: name and length of the value. */
  jar: { name: string; length: number }[];
  body: ReceivedBody | null;
  response: {
    status: number | null;
    statusMessage: string;
    headers: NamedValue[];
    /** Those that it had in common with others are stored no more. */
    headersLost: boolean;
    headersAtMs: number | null;
    contentType: string | null;
    bytes: number;
    text: string | null;
    truncated: boolean;
    outcome: ResponseFact['outcome'];
  } | null;
}

/** What stands in each profile; the rest is in its line, or shared. */
interface KeptRequest extends Omit<RequestPanelData, 'method' | 'url' | 'requestId' | 'client' | 'response'> {
  client: Omit<RequestPanelData['client'], 'address' | 'origin'>;
  response:
    | (Omit<
        NonNullable<RequestPanelData['response']>,
        'headers' | 'headersLost' | 'status' | 'statusMessage' | 'outcome'
      > & { headers: OwnHeaders })
    | null;
}

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

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !Buffer.isBuffer(value);
}

/**
 * A form as a browser would have encoded it. Tools send blanks, quotes and the like bare; the redactor would take a secret
 * to end at the first of them.
 */
function asForm(type: string, text: string | null): string | null {
  if (type !== 'application/x-www-form-urlencoded' || text === null) return text;
  return text.replace(
    /[\s"'`<>;,:(){}[\]\\|]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}

function readBody(body: BodyFact, headers: readonly NamedValue[]): ReceivedBody | null {
  if (body.bytes === 0 && body.files.length === 0) return null;
  const type = mediaTypeOf(body.contentType);
  const isForm = type === 'application/x-www-form-urlencoded' || type === 'multipart/form-data';
  const fields =
    isForm && isFields(body.parsed)
      ? Object.keys(body.parsed)
          .slice(0, MOST_PAIRS)
          .map((name) => ({ name, value: toPlain((body.parsed as Record<string, unknown>)[name]) }))
      : null;
  return {
    bytes: body.bytes,
    contentType: body.contentType,
    fields,
    parsed: fields !== null || body.parsed === undefined ? undefined : toPlain(body.parsed),
    files: body.files.map(({ field, name, contentType, bytes }) => ({ field, name, contentType, bytes })),
    text: type.startsWith('multipart/')
      ? null
      : asForm(
          type,
          decodePreview(body.preview, {
            contentType: body.contentType,
            encoding: headerValue(headers, 'content-encoding'),
          }),
        ),
    truncated: body.truncated,
  };
}

function readResponse(response: ResponseFact, headers: OwnHeaders): KeptRequest['response'] {
  const contentType = rawHeader(response.rawHeaders, 'content-type');
  return {
    headers,
    headersAtMs: response.headersAtMs === null ? null : round(response.headersAtMs),
    contentType,
    bytes: response.bodyBytes,
    text: decodePreview(response.previewAscii ?? response.preview, {
      contentType,
      encoding: rawHeader(response.rawHeaders, 'content-encoding'),
    }),
    truncated: response.truncated,
  };
}

function readClient(request: RequestFact): KeptRequest['client'] {
  const { origin } = request;
  return {
    peer: request.remoteAddress,
    port: request.remotePort,
    chain: [...origin.chain],
    trusted: origin.trusted,
    scheme: origin.scheme,
    hostError: origin.hostError,
  };
}

function readParams(route: RouteFact | undefined): RequestPanelData['routeParams'] {
  if (route === undefined) return [];
  return Object.keys(route.params).map((name) => ({ name, value: toPlain(route.params[name]) }));
}

function collect(context: Context, responseHeaders: OwnHeaders): KeptRequest | null {
  const request = context.first('request');
  if (request === undefined) return null;
  const body = context.first('body');
  const response = context.first('response');
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
    body: body === undefined ? null : readBody(body, headers),
    response: response === undefined ? null : readResponse(response, responseHeaders),
  };
}

/** What the line of the profile says already is not kept twice. */
function derive(kept: KeptRequest | null, { profile, shared, lost }: DeriveFrom): RequestPanelData | null {
  if (kept === null) return null;
  const { method, url, requestId, clientAddress, origin, status, statusMessage, outcome } = profile;
  const { response } = kept;
  return {
    ...kept,
    method,
    url,
    requestId,
    client: { ...kept.client, address: clientAddress, origin },
    response:
      response === null
        ? null
        : {
            ...response,
            headers: mergeHeaders(response.headers, shared),
            headersLost: lost,
            status,
            statusMessage,
            outcome,
          },
  };
}

export function createRequestPanel(): Panel<RequestPanelData, KeptRequest> {
  const split = createHeaderSplit();
  /** Of the context that was collected last: what it shares is asked for next. */
  let last: { context: Context; headers: SplitHeaders } | null = null;

  return {
    name: 'request',
    title: 'Request',
    collect(context) {
      const headers = split(context.first('response')?.rawHeaders ?? []);
      last = { context, headers };
      return collect(context, headers.own);
    },
    shared(context) {
      const common = last?.context === context ? last.headers.common : null;
      last = null;
      return common;
    },
    derive,
    present: (data, { profile }) => ({
      curl: toCurl(data),
      bodyLeftOut: leavesBodyOut(data),
      masked: profile.masked,
      setCookies: (data.response?.headers ?? []).filter(({ name }) => name.toLowerCase() === 'set-cookie'),
    }),
  };
}
