// Whether the browser had the document in its cache and revalidated it (304). The tag then has the token of the request that made the
// document, and the service finds the one that got the 304 by address and time. A page taken from the cache without a request has no other.

/** The transfer size that browsers report for a response without its body, whatever its headers are. */
const EMPTY_RESPONSE = 300;

/** `{ url, revalidated }`: the address, and the milliseconds since the request; null if the token of the tag is the right one. */
export function revalidation() {
  const [entry] = performance.getEntriesByType('navigation');
  if (entry === undefined) return null;
  const { name, transferSize, encodedBodySize, deliveryType, responseStatus, requestStart } = entry;
  // Browsers differ in what they report; a false positive costs one request that finds nothing.
  const isKept =
    responseStatus === 304 ||
    deliveryType === 'cache' ||
    transferSize <= encodedBodySize ||
    transferSize === EMPTY_RESPONSE;
  if (!(transferSize > 0 && isKept)) return null;
  const { pathname, search } = new URL(name);
  return { url: pathname + search, revalidated: String(Math.round(performance.now() - requestStart)) };
}
