// Follows the page to its next address where no document is loaded: by the Navigation API, the events of Turbo and htmx, and going
// back and forth. A navigation takes as its request the call that brought it: the one that the library names, else the newest to the
// same path; where none shows up within a moment, there was none.

import { putInPlace } from './hooks.js';

/** A call may have been made so long before, as by a link that was pointed at. */
const BEFORE_MS = 10_000;
/** So long after the last sign of one a navigation counts as made without a call. */
const PATIENCE_MS = 1000;
const ANSWER_TOKEN = /^[0-9a-f]{6}$/;

/** What makes it another page: not a place within one, but what routers write behind `#/` and `#!`. */
function placeOfPage(href) {
  const { pathname, search, hash } = new URL(href, location.href);
  return { path: pathname, query: search, route: /^#[/!]/.test(hash) ? hash : '' };
}

function isSamePage(one, other) {
  return one.path === other.path && one.query === other.query && one.route === other.route;
}

function answerToken(headers) {
  const token =
    typeof headers === 'string'
      ? /^x-debug-token: *(\S+)/im.exec(headers)?.[1]
      : headers?.get('x-debug-token');
  return ANSWER_TOKEN.test(token ?? '') ? token : null;
}

/** What an event of Turbo or htmx (2 and 4) says of the answer that it is about; null where it is about none. */
const ANSWERS = {
  'turbo:before-fetch-response': ({ fetchResponse }) => fetchResponse?.response,
  'htmx:beforeHistoryUpdate': ({ xhr }) =>
    xhr && { url: xhr.responseURL, headers: xhr.getAllResponseHeaders(), redirected: false },
  'htmx:before:history:update': ({ response }) => response?.raw,
};
const MOVES = [
  'turbo:visit',
  'turbo:load',
  'htmx:pushedIntoHistory',
  'htmx:replacedInHistory',
  'htmx:historyRestore',
  'htmx:after:history:push',
  'htmx:after:history:replace',
  'htmx:after:settle',
];

function libraryOf(name) {
  return name.slice(0, name.indexOf(':'));
}

export function watchNavigation({ onNavigate, calls }) {
  const undo = [];
  const used = new Set();
  let here = placeOfPage(location.href);
  let pending = null;
  let answer = null;
  let timer = null;

  function settle(found) {
    clearTimeout(timer);
    const { url, kind } = pending;
    pending = null;
    if (found) used.add(found.key);
    onNavigate({
      url,
      kind: found?.kind ?? kind,
      token: found?.token ?? null,
      redirected: found?.redirected ?? false,
    });
  }

  function giveUp() {
    // To change the query of an address, as filters do, is no navigation unless somebody was asked.
    const { replaced, from } = pending;
    if (replaced && from.path === here.path && from.route === here.route) pending = null;
    else settle(null);
  }

  function bringing(list) {
    const { at, page } = pending;
    const near = list.filter(
      ({ key, type, url, finalUrl, startedAt }) =>
        (type === 'fetch' || type === 'xhr') &&
        !used.has(key) &&
        startedAt >= at - BEFORE_MS &&
        [url, finalUrl].some(
          (one) => new URL(one).origin === location.origin && new URL(one).pathname === page.path,
        ),
    );
    const exact = near.filter(({ url, finalUrl }) =>
      [url, finalUrl].some((one) => new URL(one).search === page.query),
    );
    return (exact.length > 0 ? exact : near).at(-1);
  }

  function find() {
    if (pending === null) return;
    if (
      answer !== null &&
      pending.at - answer.at < BEFORE_MS &&
      (answer.path === null || answer.path === pending.page.path)
    ) {
      const { token, kind, redirected } = answer;
      answer = null;
      const call = calls.calls().find((one) => one.token === token);
      settle({ key: call?.key, token, kind, redirected });
      return;
    }
    const call = bringing(calls.calls());
    if (call?.token) {
      settle({ key: call.key, token: call.token, kind: pending.kind, redirected: call.redirected });
      return;
    }
    clearTimeout(timer);
    timer = null;
    // While it is under way it is waited for; of one that is over the token may still be learned.
    if (call?.state !== 'open')
      timer = setTimeout(giveUp, call === undefined ? PATIENCE_MS : 3 * PATIENCE_MS);
  }

  function moved(kind, replaced = false) {
    const page = placeOfPage(location.href);
    if (isSamePage(page, here)) {
      if (pending !== null && kind !== 'history') pending.kind = kind;
      find();
      return;
    }
    if (pending !== null) giveUp();
    pending = { url: location.href, kind, page, from: here, replaced, at: performance.now() };
    here = page;
    find();
  }

  function listen(target, name, work) {
    const guarded = (event) => {
      try {
        work(event);
      } catch {
        // The page goes on; the bar stays behind.
      }
    };
    target.addEventListener(name, guarded);
    undo.push(() => target.removeEventListener(name, guarded));
  }

  /** Without the Navigation API nothing tells of these but themselves. */
  function hookHistory(name) {
    undo.push(
      putInPlace(History.prototype, name, (state) => ({
        apply(target, self, args) {
          const result = Reflect.apply(target, self, args);
          try {
            if (state.on) moved('history', name === 'replaceState');
          } catch {
            // As above.
          }
          return result;
        },
      })),
    );
  }

  for (const name of Object.keys(ANSWERS))
    listen(document, name, ({ detail }) => {
      const given = ANSWERS[name](detail ?? {});
      const token = given ? answerToken(given.headers) : null;
      if (token === null) return;
      const kind = libraryOf(name);
      // htmx tells of the answer that it changes the address for, whatever that is; Turbo of every one.
      const path = kind === 'htmx' ? null : new URL(given.url, location.href).pathname;
      answer = { token, kind, path, redirected: given.redirected, at: performance.now() };
      find();
    });
  for (const name of MOVES) listen(document, name, () => moved(libraryOf(name)));
  listen(window, 'popstate', () => moved('history'));
  listen(window, 'hashchange', () => moved('history'));
  if (window.navigation?.addEventListener)
    listen(window.navigation, 'currententrychange', ({ navigationType }) =>
      moved('history', navigationType === 'replace'),
    );
  else for (const name of ['pushState', 'replaceState']) hookHistory(name);
  undo.push(calls.listen(() => find()));

  return () => {
    clearTimeout(timer);
    for (const work of undo.splice(0)) work();
  };
}
