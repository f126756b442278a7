// Asks the service about calls of which it may know more, a few times and less and less often, and takes what it says: methods,
// tokens, findings, and of what began before the bar was there and is still open that it is.
import { isLasting } from './call-facts.js';
import { clockOf, clockOfPage, mayBe, narrowed, pairCalls, redirectOf } from './match.js';

/** Between what is heard of a call and the questions about it. */
const ASKED_AFTER_MS = [250, 800, 2000, 5000];
const ASKED_EVERY_MS = 1000;
/** What is asked again would be answered the same, and each time stand in the console. */
const FINAL = ['policy', 'signin', 'refused', 'missing', 'strange'];
const SERVED_TOKEN = /^[0-9a-f]{6}$/;

/**
 * `list()` gives the calls, `add` makes one, `changed` is told when something of them has, `onReason` why the service tells nothing of
 * them, or null. `began`: when the hooks were there.
 */
export function createServedCalls({ ask, list, add, changed, onReason, began }) {
  // A front end of another origin has no page of the service's: it asks by its origin.
  const pages = new Set(ask.base.origin === location.origin ? [] : [null]);
  let clock = null;
  let timer = null;
  let askedAt = -ASKED_EVERY_MS;
  let stopped = false;

  function isHere({ url }) {
    return new URL(url).host === ask.base.host;
  }

  /** Whether it reached the service, as far as is known, and the service may know more of it. */
  function isWanting(call) {
    const { token, served, tries, state, from, made, status, type } = call;
    if (made || from === 'from the cache' || !isHere(call) || (type === 'websocket' && status === null))
      return false;
    if (state === 'open' && !(isLasting(call) && status !== null)) return false;
    return token === null ? tries < ASKED_AFTER_MS.length : tries === 0 && served === null;
  }

  function serve(call, served) {
    call.served = served;
    call.token = served.token;
    call.method ??= served.method;
    call.status ??= served.status;
    call.href = ask.url(served.href);
  }

  /** What stays open, and began before the hooks were there, is known to the service alone. */
  function addEarly(served) {
    const startedAt = served.startedAt - clock.high;
    if (!isLasting(served) || startedAt < 0 || startedAt > began) return;
    const address = new URL(served.url, ask.base).href;
    const url = served.type === 'websocket' ? address.replace(/^http/, 'ws') : address;
    serve(add({ type: served.type, url, startedAt, state: 'open', isServed: true }), served);
  }

  function learnKnown(call, known) {
    const isSure = call.served === null && call.entry && !call.redirected;
    serve(call, known);
    if (call.isServed && known.durationMs !== null)
      Object.assign(call, { ms: known.durationMs, state: 'done' });
    if (!isSure) return;
    const own = clockOf(known, call.sentAt, call.heardAt ?? performance.now());
    clock = clock === null ? own : narrowed(clock, own);
  }

  function byToken(given) {
    return new Map(given.filter(({ token }) => SERVED_TOKEN.test(token)).map((one) => [one.token, one]));
  }

  /** Of `others`, which another tab may have made, only those are taken that this page had the answer of. */
  function learn({ calls = [], others = [] }) {
    const free = byToken(calls);
    const shared = byToken(others);
    for (const call of list()) {
      const known = free.get(call.token) ?? shared.get(call.token);
      if (known !== undefined) learnKnown(call, known);
      free.delete(call.token);
    }
    if (clock === null) return;
    const without = list().filter(
      (call) => call.token === null && call.from !== 'from the cache' && !call.made && isHere(call),
    );
    for (const [call, served] of pairCalls(without, [...free.values()], clock)) {
      serve(call, served);
      free.delete(served.token);
    }
    const left = [...free.values()];
    for (const call of list()) {
      const isOpen = call.redirected && call.cameFrom.length === 0 && isHere(call);
      const before = isOpen ? redirectOf(call, left, clock) : null;
      if (before !== null) call.cameFrom = [{ ...before, href: ask.url(before.href) }];
    }
    // What may be one that is listed, though not for certain, does not stand beside it.
    const isListed = (one) => without.some((call) => call.token === null && mayBe(call, one, clock));
    left.filter((one) => !isListed(one)).forEach(addEarly);
  }

  async function askNow() {
    askedAt = performance.now();
    for (const call of list().filter(isWanting)) call.tries += 1;
    let why = null;
    for (const token of pages) {
      const { value, reason } = await ask.calls(token);
      if (stopped) return;
      if (FINAL.includes(reason)) pages.delete(token);
      if (value !== null) learn(value);
      why ??= reason;
    }
    onReason(why);
    timer = null;
    changed();
  }

  function askQuietly() {
    askNow().catch(() => {});
  }

  function askSoon() {
    if (timer !== null || stopped || pages.size === 0 || document.hidden) return;
    const tries = list()
      .filter(isWanting)
      .map((call) => call.tries);
    if (tries.length === 0) return;
    const delay = ASKED_AFTER_MS[Math.min(...tries)];
    timer = setTimeout(askQuietly, Math.max(delay, askedAt + ASKED_EVERY_MS - performance.now()));
  }

  document.addEventListener('visibilitychange', askSoon);
  return {
    askSoon,
    /** The first is the document, by which clocks are told; the last is what shows now. */
    setPage(page) {
      if (!page || !SERVED_TOKEN.test(page.token)) return;
      clock ??= clockOfPage(page);
      const [first = page.token] = [...pages].filter((token) => token !== null);
      pages.clear();
      pages.add(first).add(page.token);
      for (const call of list()) if (call.token === null) call.tries = 0;
      // What began before the hooks is not known here: the service is asked at least once.
      timer ??= setTimeout(askQuietly, ASKED_AFTER_MS[0]);
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', askSoon);
    },
  };
}
