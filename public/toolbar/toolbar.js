// Hindsight's toolbar starts here. It does nothing in frames and in documents that are not HTML. If a toolbar runs already, it hands that one
// its token: Turbo puts the tag of a new page into the old document. The page must not notice any failure of ours.
import { createAsk } from './ask.js';
import { createBar, findHosts } from './bar.js';
import { watchCalls } from './calls.js';
import { isToken } from './format.js';
import { watchNavigation } from './navigation.js';
import { createPlace } from './place.js';
import { revalidation } from './revalidated.js';
import { takeEarly, watchReports } from './reports.js';
import { watchTiming } from './timing.js';

const XHTML_NAME = 'http://www.w3.org/1999/xhtml';
/** The event that hands a token to a toolbar that runs already, which cancels it. */
const NEWS = 'hindsight-page';
/** While a request is running, the bar asks again at growing intervals: streams, and slow work after the response. */
const AGAIN_AFTER_MS = [250, 600, 1500, 4000, 10_000];
/** How often to look for a request that got a 304: another process may have served it. */
const MOST_SEEKS = 4;
/** A page that streams or loads for long gets its bar before it has ended. */
const SHOWN_AFTER_MS = 4000;
const BODY_AFTER_MS = 100;
const MOST_BEFORE = 20;

function findScript() {
  return document.currentScript ?? document.querySelector('script[data-hindsight]');
}

function tokenOf(script) {
  const { token } = script.dataset;
  return isToken(token) ? token : null;
}

/** The attribute of our tag, because `src` follows a later `<base>`; a tag written by hand has a whole address. */
function scriptAddress(script) {
  return script.hasAttribute('data-hindsight') ? script.getAttribute('src') : script.src;
}

function delay(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** When the page has loaded, or has taken very long and has a body: the parser would put that behind the bar. */
async function loaded() {
  if (document.readyState === 'complete') return;
  const event = new Promise((resolve) => addEventListener('load', resolve, { once: true }));
  await Promise.race([event, delay(SHOWN_AFTER_MS)]);
  while (document.body === null) await delay(BODY_AFTER_MS);
}

/** Puts the host back if the page removes it; the second time it stays away. */
function keepThere(host, isWanted) {
  const observer = new MutationObserver(async () => {
    if (host.isConnected || !isWanted()) return;
    observer.disconnect();
    await delay(50);
    if (host.isConnected || !isWanted() || document.documentElement === null) watch();
    else if (findHosts().length === 0) document.documentElement.append(host);
  });
  function watch() {
    observer.disconnect();
    observer.observe(document, { childList: true });
    if (document.documentElement !== null) observer.observe(document.documentElement, { childList: true });
  }
  return watch;
}

function run(script) {
  const ask = createAsk(scriptAddress(script), script.dataset.connect === 'no');
  const tagToken = tokenOf(script);
  /** Of the request that the document shows; undefined until it is known, null if it is not found. */
  let documentToken;
  let unsent = null;
  const state = {
    token: tagToken,
    entry: null,
    // Set after a navigation without a request to the service: { url }.
    moved: null,
    before: [],
    calls: [],
    moreCalls: 0,
    timing: null,
    // Why there is no entry, why the service tells nothing of the calls.
    reason: null,
    unserved: null,
  };
  let bar = null;
  let watched = null;
  let focusBefore = null;
  let isBroken = false;
  const place = createPlace(guarded(onPlace));
  const isWanted = () => !isBroken && !place.get().closed;

  /** The page has replaced a function that the bar needs by one that does not work: leave the page alone. */
  function giveUp() {
    isBroken = true;
    bar?.host.remove();
  }

  function guarded(work) {
    return (...given) => {
      if (isBroken) return;
      try {
        work(...given)?.catch(giveUp);
      } catch {
        giveUp();
      }
    };
  }

  function attach() {
    for (const other of [...findHosts()]) other.remove();
    document.documentElement.append(bar.host);
    bar.watch();
  }

  const render = guarded(() => {
    // Nothing is known yet: no empty bar.
    const isEmpty =
      state.entry === null && state.reason === null && state.moved === null && state.token !== null;
    if (bar === null || isEmpty) return;
    bar.render(state);
    if (!bar.host.isConnected && isWanted() && !bar.wasShown) attach();
    bar.wasShown = true;
  });

  const sendTiming = guarded(async () => {
    if (documentToken === undefined && revalidation() === null) documentToken = tagToken;
    if (!documentToken || unsent === null) return;
    const timing = unsent;
    unsent = null;
    await ask.post('-/report', { token: documentToken, timing });
  });

  const load = guarded(async (asked, attempt = 0) => {
    if (asked === null) return;
    const seek = asked === tagToken && documentToken === undefined ? revalidation() : null;
    const { value, reason } = await ask.toolbar(asked, seek);
    if (state.token !== asked) return;
    const token = value?.token ?? asked;
    if (seek !== null) {
      const mayBeFound = token === asked && (value !== null || reason === 'missing');
      if (mayBeFound && attempt < MOST_SEEKS - 1) {
        setTimeout(() => load(asked, attempt + 1), AGAIN_AFTER_MS[attempt]);
        return;
      }
      if (value !== null) documentToken = token === asked ? null : token;
      state.token = token;
      sendTiming();
    }
    if (value !== null) {
      if (state.entry === null) watched?.setPage(value);
      state.entry = value;
      state.reason = null;
    } else if (state.entry === null) state.reason = reason;
    render();
    const mayCome = value === null ? reason === 'missing' : value.state === 'running';
    if (!mayCome || attempt >= AGAIN_AFTER_MS.length) return;
    setTimeout(() => load(token, attempt + 1), AGAIN_AFTER_MS[attempt]);
  });

  /** Another page in the same document replaces the one before, which goes to `before`. Without a token it made no request. */
  function enter(token, moved = null) {
    if (token !== null && token === state.token) return;
    if (state.entry !== null) state.before = [...state.before, state.entry].slice(-MOST_BEFORE);
    Object.assign(state, { token, moved: token === null ? moved : null, entry: null, reason: null });
    if (!isWanted()) return;
    render();
    load(token);
  }

  function watch() {
    watched = watchCalls({
      ask,
      onChange(calls, moreCalls) {
        Object.assign(state, { calls, moreCalls });
        takeCalls(calls);
        render();
      },
      onReason(reason) {
        state.unserved = reason;
        // A page on another origin asks for nothing else.
        if (!ask.isOwn && state.moved === null && state.entry === null) state.reason = reason;
        render();
      },
    });
    watchNavigation({
      calls: watched,
      onNavigate: ({ url, token }) => enter(token, { url }),
    });
  }

  const begin = guarded(() => {
    if (bar === null) {
      bar = createBar({ ask, place });
      bar.watch = keepThere(bar.host, isWanted);
      bar.show(place.get());
    }
    if (watched === null) watch();
    load(state.token);
    render();
  });

  function onPlace(now) {
    if (now.closed) {
      bar?.host.remove();
      return;
    }
    if (bar === null || (state.entry === null && state.reason === null)) begin();
    bar?.show(now);
    render();
  }

  /** Somebody comes back, perhaps from signing in. */
  function lookAgain() {
    if (!document.hidden && state.reason === 'signin' && isWanted()) load(state.token);
  }

  /** Reopens the bar, moves focus into it, and out of it again. */
  function onKey(event) {
    const isOurs = event.code === 'KeyH' && event.altKey && event.shiftKey;
    if (!isOurs || event.ctrlKey || event.metaKey || isBroken || document.body === null) return;
    event.preventDefault();
    if (bar?.hasFocus()) {
      focusBefore?.focus();
      return;
    }
    focusBefore = document.activeElement;
    if (!isWanted()) place.open();
    if (bar === null) return;
    if (!bar.host.isConnected && bar.wasShown) attach();
    bar.focus();
  }

  addEventListener('keydown', onKey, true);
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) lookAgain();
  });
  document.addEventListener('visibilitychange', lookAgain);
  document.addEventListener(NEWS, (event) => {
    event.preventDefault();
    takeEarly();
    if (event.detail !== null) enter(event.detail);
  });
  const takeCalls = watchReports({
    calls: () => watched?.calls() ?? [],
    send: ask.report,
    tokenOf() {
      if (tagToken !== null && documentToken === undefined && revalidation() !== null) return undefined;
      return state.token ?? documentToken ?? tagToken;
    },
  });
  // At once, to hear the calls that the page makes while it loads; the bar appears after the load.
  if (isWanted()) watch();
  if (tagToken !== null)
    watchTiming({
      send(timing) {
        state.timing = timing;
        unsent = timing;
        sendTiming();
        render();
      },
    });
  guarded(async () => {
    await loaded();
    if (isWanted()) begin();
  })();
}

function start() {
  const root = document.documentElement;
  if (window.top !== window.self || root?.localName !== 'html' || root.namespaceURI !== XHTML_NAME) return;
  const script = findScript();
  if (script === null || !('adoptedStyleSheets' in document)) return;
  const news = new CustomEvent(NEWS, { detail: tokenOf(script), cancelable: true });
  if (document.dispatchEvent(news)) run(script);
}

try {
  start();
} catch {
  // No bar is better than an error of ours in the page's console.
}
