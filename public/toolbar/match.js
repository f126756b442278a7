// Which profile belongs to which call: the service knows methods, statuses and tokens, the browser knows what this page asked for, and
// both know the address and the time. A call is paired where nothing else could be meant; several of the same address at the same
// time are paired in their order where there are as many here as there; all others stay without.

const MASK = '••••••';
/** Milliseconds that clocks may be off beyond what is known of them: they are coarse, and drift. */
const SLACK = 60;

/**
 * What a request tells of the server's clock, which said `startedAt` when it began, at some time between `from` and `until` of
 * performance.now(): milliseconds since 1970 by that clock, less performance.now(), are between `low` and `high`.
 */
export function clockOf({ startedAt }, from, until) {
  return { low: startedAt - Math.max(from, until), high: startedAt - from };
}

/** By the document: the server had it before its headers were out, and these were before the first byte. Null as long as nothing is known. */
export function clockOfPage(page) {
  const [entry] = performance.getEntriesByType('navigation');
  if (!page || entry === undefined || entry.requestStart === 0) return null;
  return clockOf(page, entry.requestStart, entry.responseStart - (page.headersAtMs ?? 0));
}

/** Both together are narrower; where they contradict each other the clocks have drifted apart, by hours of sleep too, and the newer counts. */
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

/** What is masked in an address of the service may be anything here. */
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
  // It was sent before it was received, and received before the answer was heard.
  return (
    served.startedAt - low >= call.sentAt - SLACK &&
    served.startedAt - high <= (call.heardAt ?? Infinity) + SLACK
  );
}

/** Whether they may be each other's. */
export function mayBe(call, served, clock) {
  return isSameAddress(served.url, pathOf(call.url)) && canBe(call, served, clock);
}

/** Those of `list` that can be each other's, as sets: [calls, served] of each. */
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

/** The one answer that sent a call on, where it is certain. */
export function redirectOf(call, served, clock) {
  const sent = { ...call, status: null, heardAt: call.heardAt };
  const own = served.filter(
    (one) => one.status >= 300 && one.status < 400 && isSameAddress(one.url, pathOf(call.url)),
  );
  const found = own.filter((one) => canBe(sent, one, clock));
  return found.length === 1 ? found[0] : null;
}

/** Pairs [call, served]; `calls` without a token, on the service's origin; `served` that no call has. */
export function pairCalls(calls, served, clock) {
  return groupsOf(calls, served, clock).flatMap((group) => {
    if (group.calls.size !== group.served.size) return [];
    const inOrder = [...group.served].sort(byTime('startedAt'));
    const pairs = [...group.calls].sort(byTime('sentAt')).map((call, index) => [call, inOrder[index]]);
    return pairs.every(([call, one]) => canBe(call, one, clock)) ? pairs : [];
  });
}
