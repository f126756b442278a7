/**
 * A recorded request, sent again to the server that serves the profiler: to the socket's own address, whatever host the request names.
 * Values that were masked are not known any more: a reader fills them in, and headers without a value are left out. What proxies added is
 * not trusted a second time.
 */
import { request as tlsRequest } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { createError, messageOf } from '../../../errors.ts';
import type { RequestPanelData } from '../../../panels/request/data.ts';
import { dataOf } from '../../../panels/shared/panel-data.ts';
import type { Profile } from '../../../profiler/profile.ts';
import { namedHeader } from '../../../profiler/record/raw-headers.ts';
import { isMasked, MASK_PATTERN } from '../../../profiler/masking/redact.ts';
import { isProfilerTarget } from '../../../urls.ts';
import { request as plainRequest } from '../../../node-http.ts';

export interface Replay {
  method: string;
  path: string;
  headers: Record<string, string[]>;
  body: string | null;
  masked: string[];
  /** Masked values of address and body that were not given; nothing can be sent without them. */
  missing: MaskedValue[];
}

export interface MaskedValue {
  mark: string;
  name: string;
  place: 'address' | 'body';
}

export interface GivenValues {
  headers?: Readonly<Record<string, unknown>>;
  values?: ReadonlyMap<string, string>;
}

/** Written anew, said by proxies, or about the exchange that is over. */
const LEFT_OUT =
  /^(?::.*|host|connection|keep-alive|proxy-.*|te|trailer|upgrade|expect|transfer-encoding|content-length|content-encoding|forwarded|x-forwarded-.*|x-real-ip|x-scheme|x-request-id|traceparent|tracestate)$/;
/** Besides those that were masked. With any other, a reader could pass for a proxy that says who the user is. */
const GIVABLE = new Set(['authorization', 'cookie']);
const HEADER_NAME = /^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/;
const TIMEOUT_MS = 30_000;

function refuse(sentence: string): never {
  throw createError('BAD_REQUEST', [sentence]);
}

export function signalOf(res: ServerResponse): AbortSignal {
  const gone = new AbortController();
  res.once('close', () => {
    gone.abort();
  });
  return gone.signal;
}

/** Address of the server that received a request; null if it listens on no TCP port. */
export function serverUrl({ socket }: IncomingMessage): string | null {
  const { localAddress, localPort, encrypted } = socket as Partial<TLSSocket>;
  if (localAddress === undefined || localPort === undefined) return null;
  const host = localAddress.includes(':') ? `[${localAddress.replace(/%.*$/, '')}]` : localAddress;
  return `${encrypted === true ? 'https' : 'http'}://${host}:${localPort}`;
}

function recordedOf(profile: Profile): RequestPanelData {
  return dataOf(profile, 'request') ?? refuse('Its headers were not recorded.');
}

function bodyOf({ body }: RequestPanelData): string | null {
  if (body === null) return null;
  const { text, truncated, files } = body;
  if (files.length > 0)
    return refuse('It uploaded files, which are not recorded, so it can’t be sent again.');
  if (text === null || truncated) return refuse('Its body was truncated, so it can’t be sent again.');
  return text;
}

/** The name in front of a mark: `password=…`, `"password":"…`. */
const NAME_BEFORE = /([\p{L}\p{N}_.[\]-]{1,60})"?\s*[=:]\s*"?[^"&=:]*$/u;
const NAME_REACH = 200;

function maskedIn(text: string, place: MaskedValue['place']): MaskedValue[] {
  const found = new Map<string, MaskedValue>();
  for (const { 0: mark, index } of text.matchAll(MASK_PATTERN)) {
    const before = text.slice(Math.max(0, index - NAME_REACH), index);
    if (!found.has(mark)) found.set(mark, { mark, name: NAME_BEFORE.exec(before)?.[1] ?? mark, place });
  }
  return [...found.values()];
}

function fill(text: string, values: ReadonlyMap<string, string>, encode: (value: string) => string): string {
  return text.replace(MASK_PATTERN, (mark) => {
    const value = values.get(mark);
    return value === undefined ? mark : encode(value);
  });
}

const NUMBER = /^-?\d+(?:\.\d+)?$/;

/** A masked number of a JSON text stands in quotes. */
function fillJson(text: string, values: ReadonlyMap<string, string>): string {
  const withNumbers = text.replace(/"(\[masked \d+, number\])"/g, (quoted, mark: string) => {
    const value = values.get(mark);
    return value !== undefined && NUMBER.test(value) ? value : quoted;
  });
  return fill(withNumbers, values, (value) => JSON.stringify(value).slice(1, -1));
}

function filledBody(text: string, type: string, values: ReadonlyMap<string, string>): string {
  if (type.includes('json')) return fillJson(text, values);
  return fill(text, values, type.includes('x-www-form-urlencoded') ? encodeURIComponent : String);
}

export function maskedValues(profile: Profile): MaskedValue[] {
  return [...maskedIn(profile.url, 'address'), ...maskedIn(bodyOf(recordedOf(profile)) ?? '', 'body')];
}

/** Throws BAD_REQUEST if the request can't be sent again, whatever is given. */
export function prepareReplay(
  profile: Profile,
  { headers: given = {}, values = new Map() }: GivenValues = {},
): Replay {
  const { method, url, kind, origin } = profile;
  if (kind !== 'request' || !url.startsWith('/') || isProfilerTarget(url))
    refuse('Only requests to the application itself can be sent again.');
  const recorded = recordedOf(profile);
  const text = bodyOf(recorded);
  const type = namedHeader(recorded.headers, 'content-type') ?? '';
  const body = text === null ? null : filledBody(text, type.toLowerCase(), values);
  const path = fill(url.replace(/#.*$/s, ''), values, encodeURIComponent);
  const missing = maskedValues(profile).filter(({ mark }) => !values.has(mark));
  const replay: Replay = { method, path, headers: {}, body, masked: [], missing };
  for (const { name, value } of recorded.headers) {
    const key = name.toLowerCase();
    if (LEFT_OUT.test(key) || !HEADER_NAME.test(key)) continue;
    if (isMasked(value)) replay.masked.push(key);
    else (replay.headers[key] ??= []).push(value);
  }
  for (const [name, value] of Object.entries(given)) {
    const key = name.toLowerCase();
    const isGivable = GIVABLE.has(key) || replay.masked.includes(key);
    if (!isGivable || LEFT_OUT.test(key) || !HEADER_NAME.test(key) || typeof value !== 'string')
      refuse(`The header "${name.slice(0, 100)}" can’t be set.`);
    replay.headers[key] = [value];
  }
  replay.masked = [...new Set(replay.masked)].filter((name) => replay.headers[name] === undefined);
  if (origin !== null) replay.headers.host = [new URL(origin).host];
  if (body !== null) replay.headers['content-length'] = [String(Buffer.byteLength(body))];
  return replay;
}

export function isSafe({ method }: Pick<Profile, 'method'>): boolean {
  return method === 'GET' || method === 'HEAD';
}

function onlyOf(values: readonly string[]): string | undefined {
  return values.length === 1 ? values[0] : undefined;
}

/** Rejects with BAD_REQUEST if it gets no response. Redirects are not followed. `token`: null if it was not recorded. */
export function sendReplay(
  { method, path, headers, body }: Replay,
  options: { server: string; origin: string | null; signal: AbortSignal; profile: string },
): Promise<{ status: number; token: string | null }> {
  const { server, origin, signal, profile } = options;
  const { protocol, hostname, port } = new URL(server);
  const isTls = protocol === 'https:';
  // The proxy in front of it says so: an application that requires https would only redirect.
  const isForwarded = !isTls && origin?.startsWith('https:') === true;
  const all: Record<string, string[]> = { ...headers, 'x-debug-profile': [profile] };
  if (isForwarded) all['x-forwarded-proto'] = ['https'];
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => {
      const reason = messageOf(error);
      reject(createError('BAD_REQUEST', [`It got no response: ${reason}.`], { cause: error }));
    };
    const receive = (response: IncomingMessage): void => {
      const token = response.headers['x-debug-token'];
      response.resume();
      response.on('error', () => undefined);
      response.on('close', () => {
        resolve({ status: response.statusCode ?? 0, token: typeof token === 'string' ? token : null });
      });
    };
    const target = {
      host: hostname.replace(/^\[|\]$/g, ''),
      port,
      method,
      path,
      headers: Object.fromEntries(
        Object.entries(all).map(([name, values]) => [name, onlyOf(values) ?? values]),
      ),
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      agent: false,
      // It is this process; its certificate is for its public name.
      ...(isTls ? { rejectUnauthorized: false } : {}),
    };
    try {
      (isTls ? tlsRequest : plainRequest)(target, receive)
        .on('error', fail)
        .end(body ?? undefined);
    } catch (error) {
      // A header that can't be sent.
      fail(error);
    }
  });
}
