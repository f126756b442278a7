/**
 * What ties a request to those before and after it, for the index row: where a redirect leads, and which page a subresource was
 * asked for by. Nothing else is kept of it: who belongs to whom is worked out when a list is read (controllers/profiler/visits.ts).
 */
import type { Context } from './context.ts';
import { rawHeader } from './raw-headers.ts';

export interface Trail {
  /** Where a redirect leads: path and query on the same origin, else the whole address; null for every other answer. */
  location: string | null;
  /**
   * The page that asked for a subresource, where the browser says which: path and query; of a page of another origin that origin
   * alone; else null.
   */
  referrer: string | null;
  /**
   * Sec-Fetch-Dest: `document`, `image`, `style` …, of what a page of the same origin asked for; null where the client does not
   * say. In place of `empty` by which means a script asked, as far as that shows: `eventsource`, `xhr`, `beacon`, else `empty`;
   * this is also known of what a page of another origin asked for by CORS.
   */
  dest: string | null;
}

/** Longer ones are not kept: they could not be compared with the URL of a row, which is cut too. */
const LONGEST = 500;
const DEST = /^[a-z]{1,20}$/;
/** Of a page, as a browser writes it; a host name of 253 characters is the longest there is. */
const ORIGIN = /^https?:\/\/[^\s/?#@]{1,260}$/;

function within(text: string): string | null {
  return text.length <= LONGEST ? text : null;
}

/** Without the origin where it is `origin`, without a fragment. */
function resolve(address: string, base: string, origin: string): string | null {
  try {
    const url = new URL(address, base);
    const local = `${url.pathname}${url.search}`;
    return within(url.origin === origin ? local : `${url.origin}${local}`);
  } catch {
    return null;
  }
}

/** Of a redirect, 300 to 399 with a Location; null for nearly every request. */
function locationOf(context: Context, url: string, origin: string): string | null {
  const response = context.first('response');
  if (response === undefined || response.status < 300 || response.status > 399) return null;
  const location = rawHeader(response.rawHeaders, 'location');
  return location === null ? null : resolve(location, `${origin}${url}`, origin);
}

/** What a script asked by: it can't be told from the index later, and reading each document for it would cost far more. */
function meansOf(rawHeaders: readonly string[]): string {
  if (rawHeader(rawHeaders, 'accept') === 'text/event-stream') return 'eventsource';
  if (rawHeader(rawHeaders, 'x-requested-with')?.toLowerCase() === 'xmlhttprequest') return 'xhr';
  // A fetch may ask so too; hardly any does, since it can't read the answer.
  return rawHeader(rawHeaders, 'sec-fetch-mode') === 'no-cors' ? 'beacon' : 'empty';
}

const NOT_KNOWN = { dest: null, referrer: null };

/** Browsers say of a WebSocket which origin its page is of, and nothing else. */
function askedToUpgrade(rawHeaders: readonly string[], origin: string): Pick<Trail, 'dest' | 'referrer'> {
  if (rawHeader(rawHeaders, 'upgrade')?.toLowerCase() !== 'websocket') return NOT_KNOWN;
  const asking = rawHeader(rawHeaders, 'origin');
  if (asking === null || !ORIGIN.test(asking)) return NOT_KNOWN;
  return { dest: 'websocket', referrer: asking === origin ? null : asking };
}

/** What a script of another origin's page asked for by CORS; nothing is kept of its other subresources. */
function askedFromElsewhere(rawHeaders: readonly string[], dest: string): Pick<Trail, 'dest' | 'referrer'> {
  const asking = dest === 'empty' ? rawHeader(rawHeaders, 'origin') : null;
  return asking === null || !ORIGIN.test(asking)
    ? NOT_KNOWN
    : { dest: meansOf(rawHeaders), referrer: asking };
}

/** What a browser says of the page that asked. */
function askedFor(rawHeaders: readonly string[], origin: string): Pick<Trail, 'dest' | 'referrer'> {
  const given = rawHeader(rawHeaders, 'sec-fetch-dest');
  if (given === null) return askedToUpgrade(rawHeaders, origin);
  if (!DEST.test(given)) return NOT_KNOWN;
  if (given === 'document') return { dest: given, referrer: null };
  if (rawHeader(rawHeaders, 'sec-fetch-site') !== 'same-origin') return askedFromElsewhere(rawHeaders, given);
  const dest = given === 'empty' ? meansOf(rawHeaders) : given;
  // Pages under `referrer-policy: no-referrer`, which helmet sets, send none.
  const referer = rawHeader(rawHeaders, 'referer');
  if (referer === null) return { dest, referrer: null };
  return { dest, referrer: referer.startsWith(`${origin}/`) ? within(referer.slice(origin.length)) : null };
}

/** Null where nothing is known. */
export function trailOf(context: Context): Trail | null {
  const request = context.first('request');
  const origin = request?.origin.origin ?? null;
  if (request === undefined || origin === null || context.kind !== 'request') return null;
  const location = locationOf(context, request.url, origin);
  const { dest, referrer } = askedFor(request.rawHeaders, origin);
  return location === null && dest === null ? null : { location, referrer, dest };
}
