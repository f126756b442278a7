// Whether the browser had the document in its cache and asked the service if it is still good (304). Its tag then has the token of
// the request that made it, and the service knows by address and time which one this was. Not so for a page that was taken from
// the cache without asking: there was no other request.

/** What browsers count for an answer without its body, whatever its headers are. */
const BARE_ANSWER = 300;

/** `{ url, revalidated }`: its address, and the milliseconds since it was asked for; null where the token in the page is its own. */
export function revalidation() {
  const [entry] = performance.getEntriesByType('navigation');
  if (entry === undefined) return null;
  const { name, transferSize, encodedBodySize, deliveryType, responseStatus, requestStart } = entry;
  // What browsers tell differs; one too many is a question that finds nothing.
  const isKept =
    responseStatus === 304 ||
    deliveryType === 'cache' ||
    transferSize <= encodedBodySize ||
    transferSize === BARE_ANSWER;
  if (!(transferSize > 0 && isKept)) return null;
  const { pathname, search } = new URL(name);
  return { url: pathname + search, revalidated: String(Math.round(performance.now() - requestStart)) };
}
