// Hooks the functions by which a page makes calls, to learn at once what the browser tells later or never: the token, and calls that are
// still open. The original is called first, with the page's arguments; its result or exception goes back unchanged, and a failure of ours
// stays here. A page may wrap these functions before or after us.

/** Keeps a failure of ours from the page. */
export function quietly(work) {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** The absolute address, if it can be read without running the page's code; else null. */
function addressOf(given) {
  const text =
    typeof given === 'string' ? given : Object.getPrototypeOf(given) === URL.prototype ? given.href : null;
  return text === null ? null : new URL(text, document.baseURI).href;
}

/** Replaces a function of `owner` by a proxy, with the same attributes, if it can be replaced. */
export function replaceByProxy(owner, name, handler) {
  const before = Object.getOwnPropertyDescriptor(owner, name);
  if (typeof before?.value !== 'function' || !before.writable || !before.configurable) return;
  Object.defineProperty(owner, name, { ...before, value: new Proxy(before.value, handler) });
}

/** Of headers as text, a line each. */
export function headerIn(text, name) {
  return new RegExp(`^${name}: *(\\S+)`, 'im').exec(text)?.[1] ?? null;
}

function readProfileHeaders(get) {
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
  // A promise of another class (zone.js) is left alone: replacing it would lose what the class adds.
  const plain = Object.getPrototypeOf((async () => {})());
  const { then } = plain;
  const urlOf = Object.getOwnPropertyDescriptor(Request.prototype, 'url').get;
  const methodIn = Object.getOwnPropertyDescriptor(Request.prototype, 'method').get;

  function begin([input, init], startedAt) {
    const isRequest = typeof input === 'object' && input instanceof Request;
    const url = addressOf(isRequest ? Reflect.apply(urlOf, input, []) : input);
    const method = methodOf(init, isRequest ? Reflect.apply(methodIn, input, []) : 'GET');
    return url === null ? null : list.open({ type: 'fetch', url, method, startedAt, trace: new Error() });
  }

  function responded(call, response) {
    const { headers, status, url, redirected, type } = response;
    list.responded(call, {
      ...readProfileHeaders((name) => headers.get(name)),
      status: status === 0 ? null : status,
      finalUrl: url,
      redirected,
      // Made by the page's own code, without a request.
      made: url === '' && type === 'default',
    });
  }

  replaceByProxy(window, 'fetch', {
    apply(target, self, args) {
      const startedAt = performance.now();
      const result = Reflect.apply(target, self, args);
      const call = quietly(() => {
        const isPlain = Object.getPrototypeOf(result) === plain && Reflect.ownKeys(result).length === 0;
        return isPlain ? begin(args, startedAt) : null;
      });
      if (!call) return result;
      // The page gets this promise instead of the original: a rejection that nobody handles is reported once.
      return Reflect.apply(then, result, [
        (response) => {
          quietly(() => responded(call, response));
          quietly(() => list.ended(call));
          return response;
        },
        (reason) => {
          quietly(() => list.failed(call, reason?.name === 'AbortError' ? 'aborted' : 'failed'));
          throw reason;
        },
      ]);
    },
  });
}

function hookXhr(list) {
  const asked = new WeakMap();
  const { prototype } = XMLHttpRequest;
  const listen = EventTarget.prototype.addEventListener;
  const readAll = prototype.getAllResponseHeaders;

  function watch(xhr) {
    const known = asked.get(xhr);
    if (known === undefined) return null;
    asked.delete(xhr);
    const call = list.open({ type: 'xhr', ...known, startedAt: performance.now(), trace: new Error() });
    if (call === null) return null;
    let why = 'failed';
    const ended = ({ type }) =>
      quietly(() => {
        if (type !== 'loadend') why = type === 'abort' ? 'aborted' : 'timed out';
        else if (xhr.status === 0) list.failed(call, why);
        else {
          const { status, responseURL: finalUrl } = xhr;
          const redirected = finalUrl !== '' && finalUrl !== call.url.split('#', 1)[0];
          // Reading a single header that another origin does not expose writes an error to the console.
          const text = Reflect.apply(readAll, xhr, []) ?? '';
          const profile = readProfileHeaders((name) => headerIn(text, name));
          list.responded(call, { ...profile, status, finalUrl, redirected, made: false });
          list.ended(call);
        }
      });
    for (const type of ['abort', 'timeout', 'loadend'])
      Reflect.apply(listen, xhr, [type, ended, { once: true }]);
    return call;
  }

  replaceByProxy(prototype, 'open', {
    apply(target, xhr, args) {
      const result = Reflect.apply(target, xhr, args);
      quietly(() => {
        const url = addressOf(args[1]);
        asked.delete(xhr);
        const method = typeof args[0] === 'string' ? args[0].toUpperCase() : null;
        if (url !== null) asked.set(xhr, { url, method });
      });
      return result;
    },
  });
  replaceByProxy(prototype, 'send', {
    apply(target, xhr, args) {
      const call = quietly(() => watch(xhr));
      try {
        return Reflect.apply(target, xhr, args);
      } catch (error) {
        if (call) quietly(() => list.failed(call, 'failed'));
        throw error;
      }
    },
  });
}

/**
 * Reports a call to `list` by `open({ type, url, method, startedAt })`, which returns the call, or null if it is not listed; then by
 * `responded`, `ended` and `failed`.
 */
export function hookCalls(list) {
  for (const hook of [hookFetch, hookXhr]) quietly(() => hook(list));
}
