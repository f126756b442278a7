// Asks the service about calls of which it may know more, a few times and at growing intervals. It adds methods, tokens, findings, and
// event streams. A call is known by the token of its response. The browser does not show the tokens of beacons and earlier calls. These are
// paired by address, in order, if the service knows as many of them.
import { isLasting } from './call-facts.js';
import { isToken } from './format.js';

/** After a change of a call, by how often the service was asked about it. */
const ASKED_AFTER_MS = [250, 800, 2000, 5000];
const ASKED_EVERY_MS = 1000;
/** The next response would be the same, and each one is an error in the console. */
const FINAL = ['policy', 'signin', 'refused', 'missing', 'strange'];

/**
 * `list()` returns the calls, `add` makes one, `changed` is called after a change to one, `onReason` with the reason why the service tells
 * nothing of them, or null.
 */
export function createServedCalls({ ask, list, add, changed, onReason }) {
  // A page on another origin has no profile: the service finds its calls by the origin.
  const pages = new Set(ask.isOwn ? [] : [null]);
  let timer = null;
  let askedAt = -ASKED_EVERY_MS;

  const addressOf = ({ url }) => new URL(url, ask.base).href;
  const isHere = ({ url }) => new URL(url).host === ask.base.host;
  /** Whether it may have reached the service. */
  const isSent = (call) => !call.made && call.from !== 'from cache' && isHere(call);

  /** Whether the service may know more of it. */
  function isWanting(call) {
    const { token, served, tries, state } = call;
    if (state === 'open' || !isSent(call)) return false;
    return token === null ? tries < ASKED_AFTER_MS.length : tries === 0 && served === null;
  }

  function serve(call, served) {
    call.served = served;
    call.token = served.token;
    call.method ??= served.method;
    call.status ??= served.status;
    call.href = ask.url(served.href);
    if (!call.isServed || served.durationMs === null) return;
    call.ms = served.durationMs;
    call.state = 'done';
  }

  /** Streams are known to the service alone: the browser lists them when they have ended. */
  function addStream(served, now) {
    const url = addressOf(served);
    if (!isLasting(served) || list().some((call) => call.state === 'open' && call.url === url)) return;
    const startedAt = performance.now() - (now - served.startedAt);
    serve(add({ type: served.type, url, startedAt, isServed: true }), served);
  }

  function canBe(call, served) {
    return (
      (call.method ?? served.method) === served.method &&
      (call.status === null || served.status === null || call.status === served.status || call.redirected)
    );
  }

  /** Pairs of calls without a token and what the service knows of no call, at one address. */
  function pairsAt(url, calls, free) {
    const own = calls.filter((call) => call.url === url);
    const known = free
      .filter((served) => addressOf(served) === url)
      .sort((one, other) => one.startedAt - other.startedAt);
    const pairs = own.map((call, index) => [call, known[index]]);
    return own.length === known.length && pairs.every(([call, served]) => canBe(call, served)) ? pairs : [];
  }

  /** The one redirect that sent a call on. */
  function addRedirect(call, left) {
    if (!call.redirected || call.cameFrom.length > 0) return;
    const before = left.filter((one) => one.status >= 300 && one.status < 400 && addressOf(one) === call.url);
    if (before.length === 1) call.cameFrom = before.map((one) => ({ ...one, href: ask.url(one.href) }));
  }

  function byToken(given) {
    return new Map(given.filter(({ token }) => isToken(token)).map((one) => [one.token, one]));
  }

  /** Another tab may have made `others`: only those whose token this page received are taken. */
  function learn({ calls = [], others = [], now }) {
    const free = byToken(calls);
    const shared = byToken(others);
    for (const call of list()) {
      const known = free.get(call.token) ?? shared.get(call.token);
      if (known !== undefined) serve(call, known);
      free.delete(call.token);
    }
    const without = list().filter((call) => call.token === null && isSent(call));
    for (const url of new Set(without.map((call) => call.url)))
      for (const [call, served] of pairsAt(url, without, [...free.values()])) {
        serve(call, served);
        free.delete(served.token);
      }
    const left = [...free.values()];
    for (const call of list()) addRedirect(call, left);
    for (const served of left) addStream(served, now);
  }

  async function askNow() {
    askedAt = performance.now();
    for (const call of list().filter(isWanting)) call.tries += 1;
    let why = null;
    for (const token of pages) {
      const { value, reason } = await ask.calls(token);
      if (FINAL.includes(reason)) pages.delete(token);
      if (value !== null) learn(value);
      why ??= reason;
    }
    onReason(why);
    timer = null;
    changed();
  }

  const askQuietly = () => askNow().catch(() => {});

  function askSoon() {
    if (timer !== null || pages.size === 0 || document.hidden) return;
    const wanting = list().filter(isWanting);
    if (wanting.length === 0) return;
    const delay = ASKED_AFTER_MS[Math.min(...wanting.map(({ tries }) => tries))];
    timer = setTimeout(askQuietly, Math.max(delay, askedAt + ASKED_EVERY_MS - performance.now()));
  }

  document.addEventListener('visibilitychange', askSoon);
  return {
    askSoon,
    /** The first is the document, the last is the page shown now. */
    setPage(page) {
      if (!page || !isToken(page.token)) return;
      const [first = page.token] = [...pages].filter((token) => token !== null);
      pages.clear();
      pages.add(first).add(page.token);
      for (const call of list()) if (call.token === null) call.tries = 0;
      // Calls from before the hooks are unknown here: the service is asked at least once.
      timer ??= setTimeout(askQuietly, ASKED_AFTER_MS[0]);
    },
  };
}
