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
import { filled, toPlain } from '../profiler/plain.ts';
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

type Client = RequestPanelData['client'];
type Response = NonNullable<RequestPanelData['response']>;

/** What stands in each profile; the rest is in its line, shared, or empty. */
interface KeptRequest {
  httpVersion: string;
  receivedRequestId: string | undefined;
  client: Pick<Client, 'peer' | 'port' | 'scheme'> & {
    chain: string[] | undefined;
    trusted: true | undefined;
    hostError: string | undefined;
  };
  query: NamedValue[] | undefined;
  routeParams: RequestPanelData['routeParams'] | undefined;
  headers: NamedValue[];
  jar: RequestPanelData['jar'] | undefined;
  body: ReceivedBody | undefined;
  response:
    | (Omit<Response, 'headers' | 'headersLost' | 'status' | 'statusMessage' | 'outcome'> & {
        headers: OwnHeaders;
      })
    | undefined;
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

function readResponse(response: ResponseFact, headers: OwnHeaders): NonNullable<KeptRequest['response']> {
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
    scheme: origin.scheme,
    chain: filled([...origin.chain]),
    trusted: origin.trusted || undefined,
    hostError: origin.hostError ?? undefined,
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
    receivedRequestId: request.receivedRequestId ?? undefined,
    client: readClient(request),
    query: at === -1 ? undefined : filled(pairsOf(request.url.slice(at + 1))),
    routeParams: filled(readParams(context.last('route'))),
    headers,
    jar: filled(readJar(headers)),
    body: body === undefined ? undefined : (readBody(body, headers) ?? undefined),
    response: response === undefined ? undefined : readResponse(response, responseHeaders),
  };
}

/** What the line of the profile says already is not kept twice. */
function derive(kept: KeptRequest | null, { profile, shared, lost }: DeriveFrom): RequestPanelData | null {
  if (kept === null) return null;
  const { method, url, requestId, clientAddress, origin, status, statusMessage, outcome } = profile;
  const { response, client } = kept;
  return {
    method,
    url,
    httpVersion: kept.httpVersion,
    requestId,
    receivedRequestId: kept.receivedRequestId ?? null,
    client: {
      address: clientAddress,
      peer: client.peer,
      port: client.port,
      chain: client.chain ?? [],
      trusted: client.trusted ?? false,
      scheme: client.scheme,
      origin,
      hostError: client.hostError ?? null,
    },
    query: kept.query ?? [],
    routeParams: kept.routeParams ?? [],
    headers: kept.headers,
    jar: kept.jar ?? [],
    body: kept.body ?? null,
    response:
      response === undefined
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
