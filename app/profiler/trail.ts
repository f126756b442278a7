/**
 * What ties a request to those before and after it, for the index row: where a redirect leads, and which page a subresource was
 * asked for by. Nothing else is kept of it: who belongs to whom is worked out when a list is read (controllers/profiler/visits.ts).
 */
import type { Context } from './context.ts';
import { rawHeader } from './raw-headers.ts';

export interface Trail {
  /** Where a redirect leads: path and query on the same origin, else the whole address; null for every other answer. */
  location: string | null;
  /** The page that asked for a subresource, where the browser says which: path and query; else null. */
  referrer: string | null;
  /**
   * Sec-Fetch-Dest: `document`, or of a subresource that a page of the same origin asked for `empty`, `image`, `style` …; null where
   * the client does not say.
   */
  dest: string | null;
}

/** Longer ones are not kept: they could not be compared with the URL of a row, which is cut too. */
const LONGEST = 500;
const DEST = /^[a-z]{1,20}$/;

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

/** What a browser says of the page that asked; of another origin's pages nothing is kept. */
function askedFor(rawHeaders: readonly string[], origin: string): Pick<Trail, 'dest' | 'referrer'> {
  const dest = rawHeader(rawHeaders, 'sec-fetch-dest');
  if (dest === null || !DEST.test(dest)) return { dest: null, referrer: null };
  if (dest === 'document') return { dest, referrer: null };
  if (rawHeader(rawHeaders, 'sec-fetch-site') !== 'same-origin') return { dest: null, referrer: null };
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
