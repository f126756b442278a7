/** A page of another origin asked, and browsers refuse the response because of its CORS headers (Fetch standard, 3.3). */
import type { KeptRequest } from '../panels/request/data.ts';
import type { KeptRouting } from '../panels/routing/data.ts';
import { fromLayerRow, lastRunning } from '../panels/shared/layer-rows.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { authorOf, nameOfLayer, receivedHeader, type SentHeader, sentHeader } from './shared/http.ts';
import { excerpt } from './shared/wording.ts';

/** Need not be allowed. */
const SIMPLE_METHODS = new Set(['GET', 'HEAD', 'POST']);

interface Exchange {
  request: KeptRequest;
  status: number;
  origin: string;
  allowed: SentHeader | null;
  /** Method that the preflight asks for; null: this is no preflight. */
  wanted: string | null;
}

function isSameOrigin(request: KeptRequest, origin: string): boolean {
  const site = receivedHeader(request, 'sec-fetch-site');
  if (site !== null) return site === 'same-origin' || site === 'none';
  const hosts = [receivedHeader(request, 'host'), receivedHeader(request, 'x-forwarded-host')];
  return URL.canParse(origin) && hosts.includes(new URL(origin).host);
}

/** Items of a list header in lower case; `*` has no effect beside credentials, but is allowed here. */
function listed(header: SentHeader | null): Set<string> {
  return new Set((header?.value ?? '').split(',').map((item) => item.trim().toLowerCase()));
}

/** Names or methods of a preflight that the response does not allow. */
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
  const asked = (receivedHeader(request, 'access-control-request-headers') ?? '').split(',');
  const missing = asked
    .map((name) => name.trim().toLowerCase())
    .find((name) => name !== '' && !names.has(name) && (name === 'authorization' || !names.has('*')));
  return missing === undefined ? null : `Access-Control-Allow-Headers does not have ${excerpt(missing, 60)}`;
}

function promisesCredentials({ request }: Exchange): boolean {
  return sentHeader(request, 'access-control-allow-credentials')?.value === 'true';
}

/** Why browsers refuse it; null if they don't, or it can't be known. */
function reasonOf(exchange: Exchange): string | null {
  const { request, status, origin, allowed, wanted } = exchange;
  if (wanted !== null && (status < 200 || status > 299))
    return `the status is ${status} instead of a 2xx${allowed === null ? ', without Access-Control-Allow-Origin' : ''}`;
  if (allowed === null)
    return wanted !== null || receivedHeader(request, 'sec-fetch-mode') === 'cors'
      ? 'Access-Control-Allow-Origin was not sent'
      : null;
  if (allowed.value === '*' && promisesCredentials(exchange) && receivedHeader(request, 'cookie') !== null)
    return 'Access-Control-Allow-Origin is *, which is not valid with credentials';
  if (allowed.value !== '*' && allowed.value !== origin)
    return `Access-Control-Allow-Origin is ${excerpt(allowed.value, 80)}, and the page is of ${excerpt(origin, 80)}`;
  return wanted === null ? null : missingIn(exchange);
}

export const corsRefused: FindingRule<{ request: KeptRequest; routing: KeptRouting }> = {
  name: 'cors-refused',
  needs: ['request', 'routing'],
  labels: ['CORS refused'],
  why: 'The request has an Origin of another site, and its response does not have the status or the CORS headers that browsers ask for.',
  fix: 'Mount `cors({ origin, credentials })` before whatever may respond, such as authentication: a preflight has no cookies and tokens. Name the origin exactly, without a slash at its end, and not as `*` with credentials.',
  find({ request, routing }, { status, method }) {
    const origin = receivedHeader(request, 'origin');
    if (origin === null || status === null || isSameOrigin(request, origin)) return [];
    const wanted = method === 'OPTIONS' ? receivedHeader(request, 'access-control-request-method') : null;
    const allowed = sentHeader(request, 'access-control-allow-origin');
    const exchange: Exchange = { request, status, origin, allowed, wanted };
    const reason = reasonOf(exchange);
    // A preflight does not say whether the request that follows has cookies.
    const mayFail = wanted !== null && allowed?.value === '*' && promisesCredentials(exchange);
    if (reason === null && !mayFail) return [];
    const layer =
      (allowed === null ? undefined : authorOf(request, routing, allowed.anchor)) ??
      lastRunning(routing.layers.map(fromLayerRow));
    const what =
      wanted === null
        ? `the response of ${nameOfLayer(layer)}`
        : `what ${nameOfLayer(layer)} responded to the preflight of ${excerpt(wanted, 20)}`;
    return [
      {
        broke: 'response',
        severity: reason === null ? 'info' : 'warn',
        sentence: `Browsers refuse ${what}${reason === null ? ' if the page sends cookies' : ''}, because ${reason ?? 'Access-Control-Allow-Origin is *'}`,
        anchor: allowed?.anchor ?? 'response',
        place: layer?.source,
      },
    ];
  },
};
