// Listens to the page's calls where it makes them, only to learn at once what the browser tells later or not at all: the token, and
// what is still open. The call is made first, with what the page gave; what it returns or throws goes back as it is, and a
// failure in here is nobody's. Whoever wraps these functions before or after does so as if nothing were in between.

/** What fails in here is not told to the page. */
export function quietly(work) {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** Absolute, of what a page may give as an address without code of its own being run; null for anything else. */
function addressOf(given) {
  const text =
    typeof given === 'string' ? given : Object.getPrototypeOf(given) === URL.prototype ? given.href : null;
  return text === null ? null : new URL(text, document.baseURI).href;
}

/**
 * Puts a proxy in the place of a function of `owner`, with the same attributes; leaves alone what can't be replaced. Returns
 * what puts the function back where the proxy still stands, and makes a proxy that others hold do nothing.
 */
export function putInPlace(owner, name, handlerOf) {
  const before = Object.getOwnPropertyDescriptor(owner, name);
  if (typeof before?.value !== 'function' || !before.writable || !before.configurable) return () => {};
  const state = { on: true, value: null };
  const value = (state.value = new Proxy(before.value, handlerOf(state)));
  Object.defineProperty(owner, name, { ...before, value });
  return () => {
    state.on = false;
    if (Object.getOwnPropertyDescriptor(owner, name)?.value === value)
      Object.defineProperty(owner, name, before);
  };
}

/** Name: value … of an answer; absent headers are null. */
function readAnswer(get) {
  return { token: get('x-debug-token'), link: get('x-debug-token-link') };
}

function methodOf(init, otherwise) {
  if (init === undefined || init === null) return otherwise;
  if (Object.getPrototypeOf(init) !== Object.prototype) return null;
  const own = Object.getOwnPropertyDescriptor(init, 'method');
  if (own === undefined) return otherwise;
  return typeof own.value === 'string' ? own.value.toUpperCase() : null;
}

function hookFetch(list) {
  // Of a promise that is more than one, such as zone.js makes, nothing would be known if it were replaced by another.
  const plain = Object.getPrototypeOf((async () => {})());
  const { then } = plain;
  const urlOf = Object.getOwnPropertyDescriptor(Request.prototype, 'url').get;
  const methodIn = Object.getOwnPropertyDescriptor(Request.prototype, 'method').get;

  function begin([input, init], startedAt) {
    const isRequest = typeof input === 'object' && input instanceof Request;
    const url = addressOf(isRequest ? Reflect.apply(urlOf, input, []) : input);
    const method = methodOf(init, isRequest ? Reflect.apply(methodIn, input, []) : 'GET');
    return url === null ? null : list.open({ type: 'fetch', url, method, startedAt });
  }

  function answered(call, response) {
    const { headers, status, url, redirected, type } = response;
    list.answered(call, {
      ...readAnswer((name) => headers.get(name)),
      status: status === 0 ? null : status,
      finalUrl: url,
      redirected,
      // Made by the page's own code, which asked nobody.
      made: url === '' && type === 'default',
    });
  }

  return putInPlace(window, 'fetch', (state) => ({
    apply(target, self, args) {
      const startedAt = performance.now();
      const result = Reflect.apply(target, self, args);
      if (!state.on) return result;
      const call = quietly(() => {
        const isPlain = Object.getPrototypeOf(result) === plain && Reflect.ownKeys(result).length === 0;
        return isPlain ? begin(args, startedAt) : null;
      });
      if (!call) return result;
      // What is returned takes the place of the promise in everything: unhandled here is unhandled there, once.
      return Reflect.apply(then, result, [
        (response) => {
          quietly(() => answered(call, response));
          quietly(() => list.ended(call));
          return response;
        },
        (reason) => {
          quietly(() => list.failed(call, reason?.name === 'AbortError' ? 'aborted' : 'failed'));
          throw reason;
        },
      ]);
    },
  }));
}

function hookXhr(list) {
  const asked = new WeakMap();
  const { prototype } = XMLHttpRequest;
  const listen = EventTarget.prototype.addEventListener;
  const readAll = prototype.getAllResponseHeaders;

  // To ask for one header that another origin does not expose would write an error to the console.
  function headersOf(xhr) {
    const all = new Map();
    for (const line of (Reflect.apply(readAll, xhr, []) ?? '').split('\r\n')) {
      const at = line.indexOf(':');
      if (at > 0) all.set(line.slice(0, at).toLowerCase(), line.slice(at + 1).trim());
    }
    return (name) => all.get(name) ?? null;
  }

  function watch(xhr) {
    const known = asked.get(xhr);
    if (known === undefined) return null;
    asked.delete(xhr);
    const call = list.open({ type: 'xhr', ...known, startedAt: performance.now() });
    if (call === null) return null;
    let why = 'failed';
    const ended = ({ type }) =>
      quietly(() => {
        if (type !== 'loadend') why = type === 'abort' ? 'aborted' : 'timed out';
        else if (xhr.status === 0) list.failed(call, why);
        else {
          const finalUrl = xhr.responseURL;
          const redirected = finalUrl !== '' && finalUrl !== call.url.split('#', 1)[0];
          list.answered(call, {
            ...readAnswer(headersOf(xhr)),
            status: xhr.status,
            finalUrl,
            redirected,
            made: false,
          });
          list.ended(call);
        }
      });
    for (const type of ['abort', 'timeout', 'loadend'])
      Reflect.apply(listen, xhr, [type, ended, { once: true }]);
    return call;
  }

  const undo = [
    putInPlace(prototype, 'open', (state) => ({
      apply(target, xhr, args) {
        const result = Reflect.apply(target, xhr, args);
        if (state.on)
          quietly(() => {
            const url = addressOf(args[1]);
            asked.delete(xhr);
            const method = typeof args[0] === 'string' ? args[0].toUpperCase() : null;
            if (url !== null) asked.set(xhr, { url, method });
          });
        return result;
      },
    })),
    putInPlace(prototype, 'send', (state) => ({
      apply(target, xhr, args) {
        const call = state.on ? quietly(() => watch(xhr)) : null;
        try {
          return Reflect.apply(target, xhr, args);
        } catch (error) {
          if (call) quietly(() => list.failed(call, 'failed'));
          throw error;
        }
      },
    })),
  ];
  return () => undo.forEach((work) => work());
}

/** A constructor whose instances stay open: `watch(instance, url, startedAt)` is told of each. */
function hookConstructor(name, watch) {
  const { prototype } = window[name];
  const own = Object.getOwnPropertyDescriptor(prototype, 'constructor');
  const original = window[name];
  const undo = putInPlace(window, name, (state) => ({
    construct(target, args, newTarget) {
      const startedAt = performance.now();
      // `new` on the name itself makes what it always made; a class that extends it stays the one that is made.
      const made = Reflect.construct(target, args, newTarget === state.value ? target : newTarget);
      if (state.on) quietly(() => watch(made, startedAt));
      return made;
    },
  }));
  // An instance's `constructor` is what the page finds under the name.
  const isOurs = own?.value === original && own.configurable && window[name] !== original;
  if (isOurs) Object.defineProperty(prototype, 'constructor', { ...own, value: window[name] });
  const ours = window[name];
  return () => {
    undo();
    if (isOurs && prototype.constructor === ours) Object.defineProperty(prototype, 'constructor', own);
  };
}

function hookEventSource(list) {
  const listen = EventTarget.prototype.addEventListener;
  return hookConstructor('EventSource', (source, startedAt) => {
    const call = list.open({ type: 'eventsource', url: source.url, method: 'GET', startedAt });
    if (call === null) return;
    const seen = new WeakRef(source);
    // Nothing tells that a page has closed one, or has let go of it.
    call.look = () => {
      if ((seen.deref()?.readyState ?? 2) === 2) list.ended(call);
    };
    Reflect.apply(listen, source, ['open', () => quietly(() => list.answered(call, { status: 200 }))]);
    Reflect.apply(listen, source, [
      'error',
      ({ target }) =>
        quietly(() => (target.readyState === 2 ? list.failed(call, 'failed') : list.retried(call))),
    ]);
  });
}

function hookWebSocket(list) {
  const listen = EventTarget.prototype.addEventListener;
  return hookConstructor('WebSocket', (socket, startedAt) => {
    const call = list.open({ type: 'websocket', url: socket.url, method: 'GET', startedAt });
    if (call === null) return;
    Reflect.apply(listen, socket, ['open', () => quietly(() => list.answered(call, { status: 101 }))]);
    Reflect.apply(listen, socket, [
      'close',
      ({ code, wasClean }) =>
        quietly(() => {
          if (call.status === null) list.failed(call, 'failed');
          else if (wasClean) list.ended(call);
          else list.failed(call, `closed with code ${code}`);
        }),
    ]);
  });
}

/**
 * `list` is told of a call by `open({ type, url, method, startedAt })`, which returns it or null where it is none to list, then by
 * `answered`, `retried`, `ended` and `failed`. Returns what undoes it all.
 */
export function hookCalls(list) {
  const undo = [hookFetch, hookXhr, hookEventSource, hookWebSocket].map(
    (hook) => quietly(() => hook(list)) ?? (() => {}),
  );
  return () => undo.forEach((work) => quietly(work));
}
