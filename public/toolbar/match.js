// Which profile belongs to which call. The service knows methods, statuses and tokens, the browser knows what this page requested, and both
// know the address and the time. A call is paired if only one profile is possible; several calls to one address at the same time are
// paired in order if there are as many profiles. All others have no profile.

/** How the service marks what it masked. */
const MASK = /\[masked(?: \d+, [a-z]+)?\]/;
/** Clocks are coarse, and drift: they may be off by this many milliseconds more than measured. */
const SLACK = 60;

/**
 * The server's clock from one request, which began at `startedAt` by that clock and between `from` and `until` by performance.now(): the
 * server's clock minus performance.now() is between `low` and `high`.
 */
export function clockOf({ startedAt }, from, until) {
  return { low: startedAt - Math.max(from, until), high: startedAt - from };
}

/** From the document: the server received it before it sent the headers, and these came before the first byte. Null until it is known. */
export function clockOfPage(page) {
  const [entry] = performance.getEntriesByType('navigation');
  if (!page || entry === undefined || entry.requestStart === 0) return null;
  return clockOf(page, entry.requestStart, entry.responseStart - (page.headersAtMs ?? 0));
}

/** The intersection of both. If it is empty, the clocks have drifted apart, as during sleep, and the newer counts. */
export function narrowed(clock, newer) {
  const both = { low: Math.max(clock.low, newer.low), high: Math.min(clock.high, newer.high) };
  return both.low > both.high ? newer : both;
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A masked part of the service's address matches anything. */
function isSameAddress(masked, address) {
  if (masked === address) return true;
  const parts = decoded(masked).split(MASK);
  if (parts.length === 1) return false;
  const text = decoded(address);
  let at = 0;
  for (const part of parts) {
    const found = text.indexOf(part, at);
    if (found === -1 || (at === 0 && found > 0)) return false;
    at = found + part.length;
  }
  return at === text.length || parts.at(-1) === '';
}

function pathOf(url) {
  const { pathname, search } = new URL(url);
  return pathname + search;
}

function canBe(call, served, { low, high }) {
  if (call.method !== null && call.method !== served.method) return false;
  if (call.status !== null && served.status !== null && call.status !== served.status && !call.redirected)
    return false;
  // It was sent before it was received, and received before the response came.
  return (
    served.startedAt - low >= call.sentAt - SLACK &&
    served.startedAt - high <= (call.heardAt ?? Infinity) + SLACK
  );
}

/** Whether the profile may be of this call. */
export function mayBe(call, served, clock) {
  return isSameAddress(served.url, pathOf(call.url)) && canBe(call, served, clock);
}

/** Calls and profiles that may belong together, as groups of two sets. */
function groupsOf(calls, served, clock) {
  const groups = [];
  for (const call of calls) {
    const own = served.filter((one) => mayBe(call, one, clock));
    if (own.length === 0) continue;
    const touched = groups.filter((group) => own.some((one) => group.served.has(one)));
    const joined = { calls: new Set([call]), served: new Set(own) };
    for (const group of touched) {
      group.calls.forEach((one) => joined.calls.add(one));
      group.served.forEach((one) => joined.served.add(one));
      groups.splice(groups.indexOf(group), 1);
    }
    groups.push(joined);
  }
  return groups;
}

const byTime = (field) => (a, b) => a[field] - b[field];

/** The redirect that a call followed, if it is certain. */
export function redirectOf(call, served, clock) {
  const sent = { ...call, status: null, heardAt: call.heardAt };
  const own = served.filter(
    (one) => one.status >= 300 && one.status < 400 && isSameAddress(one.url, pathOf(call.url)),
  );
  const found = own.filter((one) => canBe(sent, one, clock));
  return found.length === 1 ? found[0] : null;
}

/** Pairs [call, served]. `calls` have no token and go to the service's origin; `served` belong to no call yet. */
export function pairCalls(calls, served, clock) {
  return groupsOf(calls, served, clock).flatMap((group) => {
    if (group.calls.size !== group.served.size) return [];
    const inOrder = [...group.served].sort(byTime('startedAt'));
    const pairs = [...group.calls].sort(byTime('sentAt')).map((call, index) => [call, inOrder[index]]);
    return pairs.every(([call, one]) => canBe(call, one, clock)) ? pairs : [];
  });
}
