// Which profile belongs to which call: the service knows methods, statuses and tokens, the browser knows what this page asked for, and
// both know the address and the time. A call is paired where nothing else could be meant; several of the same address at the same
// time are paired in their order where there are as many here as there; all others stay without.

const MASK = '••••••';
/** Milliseconds that a request may be under way beyond what is known of the page's own. */
const SLACK = 60;
const MOST_SLACK = 1000;

/** Milliseconds since 1970 by the server's clock, less performance.now(); null as long as nothing is known. */
export function offsetOf(page) {
  const [entry] = performance.getEntriesByType('navigation');
  if (!page || entry === undefined || entry.requestStart === 0) return null;
  const underway = entry.responseStart - entry.requestStart - (page.durationMs ?? 0);
  return {
    offset: page.startedAt - entry.requestStart,
    slack: SLACK + Math.min(Math.max(underway, 0), MOST_SLACK),
  };
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

function canBe(call, served, { offset, slack }) {
  if (call.method !== null && call.method !== served.method) return false;
  if (call.status !== null && served.status !== null && call.status !== served.status && !call.redirected)
    return false;
  const at = served.startedAt - offset;
  // An answer that has begun was asked for before; one millisecond is what a clock of whole ones may be off.
  return at >= call.sentAt - slack - 1 && at <= (call.heardAt ?? Infinity) + slack;
}

/** Those of `list` that can be each other's, as sets: [calls, served] of each. */
function groupsOf(calls, served, clock) {
  const groups = [];
  for (const call of calls) {
    const own = served.filter((one) => isSameAddress(one.url, pathOf(call.url)) && canBe(call, one, clock));
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
