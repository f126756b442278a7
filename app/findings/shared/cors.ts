/** Why a browser refuses a response to another site. */
import type { KeptRequest } from '../../panels/request/data.ts';
import { lastRunning, type RanLayer } from '../../panels/shared/ran-layers.ts';
import type { ProfileHead } from '../../profiler/profile.ts';
import { authorOf, directivesIn, receivedHeader, type SentHeader, sentHeader } from './http.ts';
import type { Needs } from './kept.ts';
import { excerpt } from './wording.ts';

/** Need not be allowed. */
const SIMPLE_METHODS = new Set(['GET', 'HEAD', 'POST']);

const ANY_ORIGIN = 'Access-Control-Allow-Origin is *, which is not valid with credentials';

interface Exchange {
  request: KeptRequest;
  status: number;
  origin: string;
  allowed: SentHeader | null;
  wanted: string | null;
}

function isSameOrigin(request: KeptRequest, origin: string): boolean {
  const site = receivedHeader(request, 'sec-fetch-site');
  if (site !== null) return site === 'same-origin' || site === 'none';
  const hosts = [receivedHeader(request, 'host'), receivedHeader(request, 'x-forwarded-host')];
  return URL.canParse(origin) && hosts.includes(new URL(origin).host);
}

function listed(header: SentHeader | null): Set<string> {
  return new Set(directivesIn(header?.value.toLowerCase() ?? ''));
}

function missingIn({ request, wanted }: Exchange): string | null {
  const methods = listed(sentHeader(request, 'access-control-allow-methods'));
  if (
    wanted !== null &&
    !SIMPLE_METHODS.has(wanted) &&
    !methods.has('*') &&
    !methods.has(wanted.toLowerCase())
  )
    return `Access-Control-Allow-Methods does not have ${excerpt(wanted, 20)}`;
  const names = listed(sentHeader(request, 'access-control-allow-headers'));
  const asked = receivedHeader(request, 'access-control-request-headers') ?? '';
  const missing = directivesIn(asked.toLowerCase()).find(
    (name) => !names.has(name) && (name === 'authorization' || !names.has('*')),
  );
  return missing === undefined ? null : `Access-Control-Allow-Headers does not have ${excerpt(missing, 60)}`;
}

function promisesCredentials({ request }: Pick<Exchange, 'request'>): boolean {
  return sentHeader(request, 'access-control-allow-credentials')?.value === 'true';
}

function nearlyText(allowed: string, origin: string): string {
  if (allowed.toLowerCase().replace(/\/+$/, '') !== origin.toLowerCase()) return '';
  return allowed.endsWith('/') ? ', without the slash at its end' : ', in lower case';
}

/** Middleware that compares origins says so by Vary. */
function absenceOf(request: KeptRequest, origin: string): string {
  const compares = listed(sentHeader(request, 'vary')).has('origin');
  return `Access-Control-Allow-Origin was not sent${compares ? `, though Vary: Origin was: ${excerpt(origin, 80)} equals none of the allowed origins, letter by letter` : ''}`;
}

function reasonOf(exchange: Exchange): string | null {
  const { request, status, origin, allowed, wanted } = exchange;
  if (wanted !== null && (status < 200 || status > 299))
    return `the status is ${status} instead of a 2xx${allowed === null ? ', without Access-Control-Allow-Origin' : ''}`;
  if (allowed === null)
    return wanted !== null || receivedHeader(request, 'sec-fetch-mode') === 'cors'
      ? absenceOf(request, origin)
      : null;
  if (allowed.value === '*' && promisesCredentials(exchange) && receivedHeader(request, 'cookie') !== null)
    return ANY_ORIGIN;
  if (allowed.value !== '*' && allowed.value !== origin)
    return `Access-Control-Allow-Origin is ${excerpt(allowed.value, 80)}, and the page is of ${excerpt(origin, 80)}${nearlyText(allowed.value, origin)}`;
  return wanted === null ? null : missingIn(exchange);
}

interface CorsRefusal {
  reason: string | null;
  layer: RanLayer | undefined;
  wanted: string | null;
  anchor: string;
}

export function corsRefusalOf(
  { request, routing }: Needs<'request' | 'routing'>,
  { status, method }: Pick<ProfileHead, 'status' | 'method'>,
): CorsRefusal | null {
  const origin = receivedHeader(request, 'origin');
  if (origin === null || status === null || isSameOrigin(request, origin)) return null;
  const wanted = method === 'OPTIONS' ? receivedHeader(request, 'access-control-request-method') : null;
  const allowed = sentHeader(request, 'access-control-allow-origin');
  const exchange: Exchange = { request, status, origin, allowed, wanted };
  const reason = reasonOf(exchange);
  // A preflight does not say whether the request that follows has cookies.
  const mayFail = wanted !== null && allowed?.value === '*' && promisesCredentials(exchange);
  if (reason === null && !mayFail) return null;
  const layer =
    (allowed === null ? undefined : authorOf(request, routing, allowed.anchor)) ??
    lastRunning(routing.layers);
  return { reason, layer, wanted, anchor: allowed?.anchor ?? 'response' };
}

/** The same for a call that the browser did refuse. */
export function corsReasonOf(
  kept: Needs<'request' | 'routing'>,
  head: Pick<ProfileHead, 'status' | 'method'>,
): { reason: string; layer: RanLayer | undefined } | null {
  const refusal = corsRefusalOf(kept, head);
  if (refusal === null) return null;
  return { reason: refusal.reason ?? ANY_ORIGIN, layer: refusal.layer };
}

/** What a call with credentials would need; null if it was sent, or the call was of the same origin. */
export function credentialsReasonOf({
  request,
  routing,
}: Needs<'request' | 'routing'>): { reason: string; layer: RanLayer | undefined } | null {
  const origin = receivedHeader(request, 'origin');
  const allowed = sentHeader(request, 'access-control-allow-origin');
  if (origin === null || allowed === null || isSameOrigin(request, origin)) return null;
  const layer = authorOf(request, routing, allowed.anchor);
  if (allowed.value === '*') return { reason: ANY_ORIGIN, layer };
  return promisesCredentials({ request })
    ? null
    : { reason: 'Access-Control-Allow-Credentials was not sent', layer };
}
