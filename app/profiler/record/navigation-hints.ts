/**
 * Hints that connect a request with others, for the index: the target of its redirect, and the page that requested it. Lists work
 * out from them which requests belong together (controllers/profiler/visits.ts).
 */
import type { Context } from './context.ts';
import { rawHeader } from './raw-headers.ts';

export interface NavigationHints {
  /** Target of a redirect: path and query on the same origin, else the whole URL; null for any other response. */
  location: string | null;
  /**
   * The page that requested a subresource, if the browser sends it: path and query; for a page of another origin, that origin
   * only; else null.
   */
  referrer: string | null;
  /**
   * Sec-Fetch-Dest (`document`, `image`, `style` …) of a request by a page of the same origin; null if the client doesn't send it.
   * Instead of `empty`, how a script sent it, if the headers show it: `eventsource`, `xhr`, `beacon`, else `empty`; also for CORS
   * requests by a page of another origin.
   */
  dest: string | null;
}

/** Longer values are dropped: the URLs that they would be compared with are truncated. */
const LONGEST = 500;
const DEST = /^[a-z]{1,20}$/;
/** Origin as a browser writes it; a host name has at most 253 characters. */
const ORIGIN = /^https?:\/\/[^\s/?#@]{1,260}$/;

function within(text: string): string | null {
  return text.length <= LONGEST ? text : null;
}

function resolve(address: string, base: string, origin: string): string | null {
  try {
    const url = new URL(address, base);
    const local = `${url.pathname}${url.search}`;
    return within(url.origin === origin ? local : `${url.origin}${local}`);
  } catch {
    return null;
  }
}

function locationOf(context: Context, url: string, origin: string): string | null {
  const response = context.first('response');
  if (response === undefined || response.status < 300 || response.status > 399) return null;
  const location = rawHeader(response.rawHeaders, 'location');
  return location === null ? null : resolve(location, `${origin}${url}`, origin);
}

/** How a script sent the request. Decided here, because reading every document later would cost far more. */
function senderOf(rawHeaders: readonly string[]): string {
  if (rawHeader(rawHeaders, 'accept') === 'text/event-stream') return 'eventsource';
  if (rawHeader(rawHeaders, 'x-requested-with')?.toLowerCase() === 'xmlhttprequest') return 'xhr';
  // `fetch` may use `no-cors`, too, but then it can't read the response, so hardly any does.
  return rawHeader(rawHeaders, 'sec-fetch-mode') === 'no-cors' ? 'beacon' : 'empty';
}

const NO_HINTS = { dest: null, referrer: null };

/** CORS requests by a script of another origin's page; its other subresources are not recorded. */
function hintsOfCors(
  rawHeaders: readonly string[],
  dest: string,
): Pick<NavigationHints, 'dest' | 'referrer'> {
  const asking = dest === 'empty' ? rawHeader(rawHeaders, 'origin') : null;
  return asking === null || !ORIGIN.test(asking)
    ? NO_HINTS
    : { dest: senderOf(rawHeaders), referrer: asking };
}

/** What the browser's headers say about the page that sent the request. */
function hintsOfPage(
  rawHeaders: readonly string[],
  origin: string,
): Pick<NavigationHints, 'dest' | 'referrer'> {
  const given = rawHeader(rawHeaders, 'sec-fetch-dest');
  if (given === null || !DEST.test(given)) return NO_HINTS;
  if (given === 'document') return { dest: given, referrer: null };
  if (rawHeader(rawHeaders, 'sec-fetch-site') !== 'same-origin') return hintsOfCors(rawHeaders, given);
  const dest = given === 'empty' ? senderOf(rawHeaders) : given;
  // Pages with `referrer-policy: no-referrer`, which helmet sets, send none.
  const referer = rawHeader(rawHeaders, 'referer');
  if (referer === null) return { dest, referrer: null };
  return { dest, referrer: referer.startsWith(`${origin}/`) ? within(referer.slice(origin.length)) : null };
}

/** null if the headers do not show it. */
export function navigationHintsOf(context: Context): NavigationHints | null {
  const request = context.first('request');
  const origin = request?.origin.origin ?? null;
  if (request === undefined || origin === null || context.kind !== 'request') return null;
  const location = locationOf(context, request.url, origin);
  const { dest, referrer } = hintsOfPage(request.rawHeaders, origin);
  return location === null && dest === null ? null : { location, referrer, dest };
}
