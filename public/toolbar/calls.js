// The calls that the page makes, from three sources. The browser's own list of what it loaded is passive, and includes calls from before
// the script ran. The hooks (hooks.js) add the token, and calls that are still open. The service adds the method and the token of calls
// that the first two could not tell (served-calls.js).
import { linkOf, shownCall, sourceOf } from './call-facts.js';
import { isToken } from './format.js';
import { hookCalls, quietly } from './hooks.js';
import { createServedCalls } from './served-calls.js';

const ENTRY_TYPES = { fetch: 'fetch', xmlhttprequest: 'xhr', beacon: 'beacon' };
const MOST_CALLS = 100;
const TOLD_EVERY_MS = 100;
/** An entry of the browser's list begins at most this long after the call, which may wait for a service worker or a wrapper. */
const ENTRY_WITHIN_MS = 5000;
const NEW_CALL = {
  method: null, status: null, ms: null, token: null, href: null, why: null, from: null, cameFrom: [], redirected: false, made: false, tries: 0, served: null, isServed: false, entry: false, state: 'open',
}; // prettier-ignore

/**
 * `onChange(calls, more)`: the calls, oldest first, and how many older ones are left out. `setPage` gets the document as the service
 * describes it. `onReason`: see served-calls.js. Start it early: of calls made before, only the end is known.
 */
export function watchCalls({ onChange, ask, onReason = () => {} }) {
  const listeners = new Set([onChange]);
  let calls = [];
  let dropped = 0;
  let keys = 0;
  let telling = null;
  const served = createServedCalls({ ask, list: () => calls, add, changed, onReason });

  function shown() {
    return calls.map((call) => shownCall(call));
  }

  function tell() {
    telling = null;
    for (const listener of listeners) listener(shown(), dropped);
  }

  function changed() {
    telling ??= setTimeout(() => quietly(tell), TOLD_EVERY_MS);
    served.askSoon();
  }

  function add(given) {
    keys += 1;
    const call = { ...NEW_CALL, key: `c${keys}`, finalUrl: given.url, ...given };
    calls = [...calls, call].sort((a, b) => a.startedAt - b.startedAt);
    dropped += Math.max(0, calls.length - MOST_CALLS);
    calls = calls.slice(-MOST_CALLS);
    changed();
    return call;
  }

  /** Only calls over HTTP, and not the bar's own. */
  function isListed(url) {
    const { protocol, host, pathname } = new URL(url);
    return /^https?:$/.test(protocol) && !(host === ask.base.host && /^\/_profiler(\/|$)/.test(pathname));
  }

  function close(call, state, why) {
    if (call.state !== 'open') return;
    Object.assign(call, { state, why, ms: call.ms ?? performance.now() - call.startedAt });
    changed();
  }

  function responded(call, { status, token, link, finalUrl, redirected, made }) {
    Object.assign(call, { status, made, redirected, finalUrl: finalUrl || call.url });
    if (made) call.why = 'response made by the page';
    if (isToken(token)) {
      const isHere = new URL(call.finalUrl).host === ask.base.host;
      call.token = token;
      call.href = linkOf(link, call.finalUrl) ?? (isHere ? ask.profile(token) : null);
    }
    changed();
  }

  /** The call of an entry of the browser's list; undefined if no hook heard it. */
  function callOf({ name, startTime, responseStatus }, type) {
    return calls.find(
      (call) =>
        !call.entry &&
        call.type === type &&
        (call.url.split('#', 1)[0] === name || call.finalUrl === name) &&
        call.startedAt <= startTime + 1 &&
        startTime - call.startedAt < ENTRY_WITHIN_MS &&
        // Of several attempts that a wrapper made as one call, the one with this status.
        (call.status === null || !responseStatus || call.status === responseStatus),
    );
  }

  function takeEntry(entry) {
    const { name, startTime, responseStart, responseStatus, redirectStart } = entry;
    const type = ENTRY_TYPES[entry.initiatorType];
    if (type === undefined) {
      // An event stream is "other", and listed when it has ended.
      const stream = calls.find((call) => call.isServed && call.state === 'open' && call.url === name);
      if (stream !== undefined && entry.initiatorType === 'other') close(stream, 'done', null);
      return;
    }
    if (!isListed(name)) return;
    const call = callOf(entry, type) ?? add({ type, url: name, startedAt: startTime });
    const redirected = call.redirected || redirectStart > 0;
    Object.assign(call, {
      entry: true,
      redirected,
      ms: entry.duration,
      status: call.status ?? (responseStatus || null),
      from: sourceOf(entry),
    });
    // On another origin a failure looks like a response that the page may not read.
    const isLost = new URL(name).origin === location.origin && !responseStatus && responseStart === 0;
    if (call.state === 'open')
      Object.assign(call, isLost ? { state: 'failed', why: 'failed' } : { state: 'done' });
    changed();
  }

  hookCalls({
    open: (given) => (isListed(given.url) ? add(given) : null),
    responded,
    ended: (call) => close(call, 'done', call.why),
    failed: (call, why) => close(call, 'failed', why),
  });
  // Without it the hooks are the only source.
  quietly(() => {
    const take = (list) => list.getEntries().forEach((entry) => quietly(() => takeEntry(entry)));
    new PerformanceObserver(take).observe({ type: 'resource', buffered: true });
  });

  return {
    calls: shown,
    setPage: served.setPage,
    listen: (listener) => listeners.add(listener),
  };
}
