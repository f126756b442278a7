/** A redirect that leads to the same address again, or on which the client loses the body that it sent. */
import type { KeptRequest } from '../panels/request/data.ts';
import type { KeptRouting } from '../panels/routing/data.ts';
import { fromLayerRow, lastRunning } from '../panels/shared/layer-rows.ts';
import type { FindingDraft, FindingRule } from '../profiler/finding-rule.ts';
import { nameOfLayer, receivedHeader, sentHeader } from './shared/http.ts';
import { isUntrustedHttps } from './shared/proxy.ts';

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Clients repeat these with GET (RFC 9110, 15.4). */
const BECOMES_GET = new Set([301, 302, 303]);

/** The address as the client sees it; null if it sent no usable Host. */
function addressOf(request: KeptRequest, url: string): URL | null {
  const scheme = isUntrustedHttps(request) ? 'https' : request.client.scheme;
  const host = receivedHeader(request, 'host') ?? '';
  return URL.canParse(`${scheme}://${host}${url}`) ? new URL(`${scheme}://${host}${url}`) : null;
}

function withoutSlash({ pathname }: URL): string {
  return pathname.replace(/\/+$/, '');
}

/** `/login` -> `/login?next=%2Flogin`. */
function leadsBack(from: URL, to: URL): boolean {
  if (from.origin !== to.origin || from.pathname !== to.pathname) return false;
  return from.search === to.search || [...to.searchParams.values()].includes(from.pathname + from.search);
}

/** Another spelling of the same address: a slash, the scheme or the host. */
function isRespelled(from: URL, to: URL): boolean {
  return withoutSlash(from) === withoutSlash(to) && from.href !== to.href && from.search === to.search;
}

export const redirectFails: FindingRule<{ request: KeptRequest; routing: KeptRouting }> = {
  name: 'redirect-fails',
  needs: ['request', 'routing'],
  labels: ['redirect loop', 'body lost'],
  why: 'The Location is the address of the request itself and no cookie was set, or a middleware redirected a request with a body by 301, 302 or 303 to another spelling of its address.',
  fix: "Exempt the target of a redirect from what redirects there. Trust the proxy that terminates TLS (`app.set('trust proxy', …)`). Redirect with 308, which keeps method and body.",
  find({ request, routing }, { status, method, url }) {
    if (status === null || !REDIRECTS.has(status)) return [];
    const location = sentHeader(request, 'location');
    const from = location === null ? null : addressOf(request, url);
    if (location === null || from === null || !URL.canParse(location.value, from.href)) return [];
    const to = new URL(location.value, from.href);
    to.hash = '';
    const layer = lastRunning(routing.layers.map(fromLayerRow));
    const common: Omit<FindingDraft, 'sentence'> = {
      broke: 'response',
      severity: 'bad',
      anchor: location.anchor,
      place: layer?.source,
    };
    const isRead = method === 'GET' || method === 'HEAD';
    // A cookie may make the next request another one.
    if (isRead && leadsBack(from, to) && sentHeader(request, 'set-cookie') === null) {
      const proxy = isUntrustedHttps(request)
        ? ': the proxy says https, but is not trusted, so Express takes the request for http'
        : '';
      const sentence = `${nameOfLayer(layer)} redirected the request to its own address, which is a loop${proxy}`;
      return [{ ...common, label: 'redirect loop', sentence }];
    }
    const isLost = method === 'POST' ? BECOMES_GET.has(status) : status === 303;
    if (isRead || !isLost || (request.body?.bytes ?? 0) === 0 || layer?.kind !== 'middleware') return [];
    if (!isRespelled(from, to)) return [];
    const sentence = `${nameOfLayer(layer)} redirected ${method.slice(0, 20)} with ${status} to another spelling of its address: clients repeat it as GET, without the body`;
    return [{ ...common, label: 'body lost', sentence }];
  },
};
