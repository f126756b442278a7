// Follows the page to its next address when no document is loaded, by the Navigation API. The request of a navigation is the call that
// brought it: the one that the library names, else the newest to the same path; if none shows up within a moment, there was none.

import { isToken } from './format.js';
import { headerIn, quietly } from './hooks.js';

/** A call may be this much older than the navigation: libraries prefetch links that are pointed at. */
const BEFORE_MS = 10_000;
/** A navigation without a call for this long had none. */
const WITHIN_MS = 1000;

/** Two addresses are one page if these are equal. A fragment counts only in the forms of routers, `#/` and `#!`. */
function placeOfPage(href) {
  const { pathname, search, hash } = new URL(href, location.href);
  return { path: pathname, query: search, route: /^#[/!]/.test(hash) ? hash : '' };
}

function isSamePage(one, other) {
  return one.path === other.path && one.query === other.query && one.route === other.route;
}

function tokenFrom(headers) {
  const name = 'x-debug-token';
  const token = typeof headers === 'string' ? headerIn(headers, name) : headers?.get(name);
  return isToken(token) ? token : null;
}

/** The response that an event of Turbo or htmx (2 and 4) is about, if any. */
const RESPONSES = {
  'turbo:before-fetch-response': ({ fetchResponse }) => fetchResponse?.response,
  'htmx:beforeHistoryUpdate': ({ xhr }) => xhr && { headers: xhr.getAllResponseHeaders() },
  'htmx:before:history:update': ({ response }) => response?.raw,
};

export function watchNavigation({ onNavigate, calls }) {
  const used = new Set();
  let here = placeOfPage(location.href);
  let pending = null;
  let named = null;
  let timer = null;

  function settle(found) {
    clearTimeout(timer);
    const { url } = pending;
    pending = null;
    if (found) used.add(found.key);
    onNavigate({ url, token: found?.token ?? null });
  }

  function giveUp() {
    // Replacing the query, as filters do, is a navigation only if it made a call.
    const { replaced, from } = pending;
    if (replaced && from.path === here.path && from.route === here.route) pending = null;
    else settle(null);
  }

  function bringing(list) {
    const { at, page } = pending;
    const addressesOf = ({ url, finalUrl }) => [new URL(url), new URL(finalUrl)];
    const isHere = ({ origin, pathname }) => origin === location.origin && pathname === page.path;
    const near = list
      .filter(({ type, key }) => (type === 'fetch' || type === 'xhr') && !used.has(key))
      .filter((call) => call.startedAt >= at - BEFORE_MS && addressesOf(call).some(isHere));
    const exact = near.filter((call) => addressesOf(call).some(({ search }) => search === page.query));
    return (exact.length > 0 ? exact : near).at(-1);
  }

  function find() {
    if (pending === null) return;
    const { at, page } = pending;
    if (named !== null && at - named.at < BEFORE_MS && [null, page.path].includes(named.path)) {
      const { token } = named;
      named = null;
      settle({ key: calls.calls().find((one) => one.token === token)?.key, token });
      return;
    }
    const call = bringing(calls.calls());
    if (call?.token) {
      settle(call);
      return;
    }
    clearTimeout(timer);
    timer = null;
    // An open call is waited for; the token of a finished one may still come.
    if (call?.state !== 'open') timer = setTimeout(giveUp, call === undefined ? WITHIN_MS : 3 * WITHIN_MS);
  }

  function moved(replaced) {
    const page = placeOfPage(location.href);
    if (isSamePage(page, here)) {
      find();
      return;
    }
    if (pending !== null) giveUp();
    pending = { url: location.href, page, from: here, replaced, at: performance.now() };
    here = page;
    find();
  }

  function listen(target, name, work) {
    // If it fails, the page goes on; the bar shows the page before.
    target.addEventListener(name, (event) => quietly(() => work(event)));
  }

  for (const name of Object.keys(RESPONSES))
    listen(document, name, ({ detail }) => {
      const given = RESPONSES[name](detail ?? {});
      const token = given ? tokenFrom(given.headers) : null;
      if (token === null) return;
      // htmx names the response for which it changes the address, whatever its own address; Turbo names every response.
      const path = name.startsWith('htmx') ? null : new URL(given.url, location.href).pathname;
      named = { token, path, at: performance.now() };
      find();
    });
  // Browsers before 2026 do not have it.
  if (window.navigation?.addEventListener)
    listen(window.navigation, 'currententrychange', ({ navigationType }) =>
      moved(navigationType === 'replace'),
    );
  calls.listen(find);
}
