// How one call is shown: its tone and the reason, the link to its profile, and where its response came from.

const SLOW_MS = 1000;
const CALL_TONES = ['plain', 'warn', 'bad'];

export function isLasting({ type }) {
  return type === 'eventsource';
}

function worseOf(one, other) {
  return CALL_TONES.indexOf(other.tone) > CALL_TONES.indexOf(one.tone) ? other : one;
}

/** Only a service's own response may name the address of its profile, and only on its own host. */
export function linkOf(link, url) {
  try {
    const to = new URL(link, url);
    return /^https?:$/.test(to.protocol) && to.host === new URL(url).host ? to.href : null;
  } catch {
    return null;
  }
}

function judgeCall({ state, status, why, ms, from, ...call }) {
  if (state === 'failed') return { tone: why === 'aborted' ? 'plain' : 'bad', why };
  if (status >= 500) return { tone: 'bad', why: `responded ${status}` };
  if (status >= 400) return { tone: 'warn', why: `responded ${status}` };
  if (ms >= SLOW_MS && !isLasting(call)) return { tone: 'warn', why: 'slow' };
  return { tone: 'plain', why: why ?? from };
}

/** Set if the response did not come straight from the server. */
export function sourceOf({ deliveryType, workerStart, transferSize, encodedBodySize }) {
  if (transferSize > 0 || encodedBodySize === 0) return null;
  if (workerStart > 0) return 'through a service worker';
  return deliveryType === 'cache' ? 'from cache' : null;
}

export function shownCall(call) {
  const { state, served } = call;
  const ms = state === 'open' ? null : call.ms;
  const own = judgeCall({ ...call, ms });
  // The browser knows why the page got no response; the service may only have seen the page leave. For a stream, being left is its end.
  const isOver = served === null || state === 'failed' || (isLasting(call) && served.tone !== 'bad');
  const { tone, why } = isOver ? own : worseOf(own, served);
  return { ...call, ms, tone, why };
}
