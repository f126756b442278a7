// Failures of this page, for its profile: errors, rejections, console.error, and files that the browser blocked or could not load. It only
// listens: no event is handled, and no function of the page's is called.

import { jsonText } from './format.js';
import { quietly, replaceByProxy } from './hooks.js';

const MOST = 20;
const SENT_AFTER_MS = 500;
/** Calls that ended at most this long before an error may have caused it. */
const RECENT_MS = 2000;
const MOST_CALLS = 3;
/** A call that failed this shortly before the page was left was ended by that. */
const LEFT_WITHIN_MS = 300;
/** Bytes that the service accepts, less the rest of the report. */
const MOST_BYTES = 7000;
const EXTENSION = /\b[a-z]+-extension:\/\//;
/** Asks the tag's first lines for the events from before this script ran. */
const EARLY = 'hindsight-early';
const FILES = { script: 'src', link: 'href', img: 'src' };

function cut(value, most) {
  return typeof value === 'string' ? value.slice(0, most) : undefined;
}

/** Stacks of the lines that read a body, by the errors of it, which have none. */
const readAt = new WeakMap();

function describe(thrown, otherwise) {
  const isError = thrown instanceof Error || thrown instanceof DOMException;
  if (!isError) return { name: typeof thrown, message: cut(thrown ?? otherwise, 1000) ?? '' };
  const stack = thrown.stack?.includes('://') ? thrown.stack : readAt.get(thrown);
  return { name: cut(thrown.name, 100), message: cut(thrown.message, 1000), stack: cut(stack, 3000) };
}

function errorItem({ message, filename, lineno, colno, error, target }) {
  if (target !== window) {
    const name = target?.localName;
    const url = target?.[FILES[name]];
    return url ? { kind: 'file', name, url: cut(new URL(url, document.baseURI).href, 1000) } : null;
  }
  // Of a script of another origin nothing is known; the other one is harmless.
  if (!error && (!filename || /^ResizeObserver/.test(message))) return null;
  const thrown = describe(error, message);
  // A script that can't be parsed has no stack.
  return { kind: 'error', ...thrown, stack: thrown.stack ?? `at ${filename}:${lineno}:${colno}` };
}

function rejectionItem({ reason }) {
  return reason?.name === 'AbortError' ? null : { kind: 'rejection', ...describe(reason) };
}

/** Of an event, or of a report of the browser. */
function policyItem(given) {
  const { effectiveDirective: directive, blockedURL, blockedURI, disposition: name } = given;
  const { sourceFile, lineNumber, columnNumber } = given;
  const stack = sourceFile ? `at ${sourceFile}:${lineNumber}:${columnNumber ?? 1}` : '';
  return { kind: 'policy', name, directive, url: cut(blockedURL ?? blockedURI, 1000), stack };
}

const ITEMS = { error: errorItem, unhandledrejection: rejectionItem };

/** Events from before this script ran; the tag's first lines keep no more of them. */
export function takeEarly() {
  let early = [];
  dispatchEvent(new CustomEvent(EARLY, { detail: (events) => (early = events) }));
  return early;
}

/** Violations of the page's policy; those from before this script ran, too, if the browser kept them. */
function watchPolicies(take) {
  if (window.ReportingObserver === undefined)
    addEventListener('securitypolicyviolation', (event) => take(event, event.timeStamp), true);
  else
    new ReportingObserver((reports) => reports.forEach(({ body }) => take(body, performance.now())), {
      types: ['csp-violation'],
      buffered: true,
    }).observe();
}

/**
 * Chromium reports a response that is not JSON in the console only, without an event. The page gets a promise with the same result, whose
 * rejection is as silent.
 */
function watchJson(take) {
  const { then } = Promise.prototype;
  replaceByProxy(Response.prototype, 'json', {
    apply(target, self, args) {
      const { stack } = new Error();
      const noted = (reason) => {
        quietly(() => {
          readAt.set(reason, stack);
          if (reason.name === 'SyntaxError' && !reason.stack.includes('://')) take(describe(reason));
        });
        throw reason;
      };
      return Reflect.apply(then, Reflect.apply(target, self, args), [undefined, noted]);
    },
  });
}

/**
 * `calls()`: those of the page, oldest first. `send({ token, page, items })` sends a report. `tokenOf()`: of the page; null if it has none,
 * undefined until it is known. Give each new list of calls to the function that it returns.
 */
export function watchReports({ calls, send, tokenOf }) {
  const failed = new Set();
  let waiting = [];
  let count = 0;
  let timer = null;

  function callOf({ method, finalUrl, url, status, token }) {
    return {
      method: method ?? undefined,
      url: cut(finalUrl || url, 1000),
      status: status ?? undefined,
      token: token ?? undefined,
    };
  }

  function recent(at) {
    const ended = calls().filter(
      ({ state, startedAt, ms }) => state === 'done' && at - startedAt - ms < RECENT_MS && startedAt <= at,
    );
    return ended.slice(-MOST_CALLS).reverse();
  }

  function add(item, at) {
    if (item === null || count >= MOST || EXTENSION.test(item.stack ?? item.url ?? '')) return;
    count += 1;
    waiting.push({ item, at });
    timer ??= setTimeout(() => quietly(flush), SENT_AFTER_MS);
  }

  function take(event) {
    // A page may send events of its own.
    if (event.isTrusted) add(ITEMS[event.type](event), event.timeStamp);
  }

  function flush(isLeaving = false) {
    clearTimeout(timer);
    timer = null;
    const known = tokenOf();
    if (known === undefined && !isLeaving) {
      timer = setTimeout(() => quietly(flush), SENT_AFTER_MS);
      return;
    }
    const token = known ?? calls().findLast((call) => call.token !== null)?.token;
    const now = performance.now();
    const given = waiting.filter(
      ({ item, at }) => !(isLeaving && item.kind === 'call' && now - at < LEFT_WITHIN_MS),
    );
    waiting = [];
    let items = [];
    for (const { item, at } of given) {
      const one = { ...item, agoMs: Math.max(0, now - at) };
      if (item.kind === 'error' || item.kind === 'rejection') one.calls = recent(at).map(callOf);
      if (new Blob([jsonText([...items, one])]).size > MOST_BYTES) {
        if (items.length > 0) send({ token, page: cut(location.href, 1000), items });
        items = [];
      }
      items.push(one);
    }
    if (items.length > 0) send({ token, page: cut(location.href, 1000), items });
  }

  function takeCalls(listed) {
    for (const call of listed) {
      if (call.state !== 'failed' || call.why !== 'failed' || failed.has(call.key)) continue;
      failed.add(call.key);
      const { method, url } = callOf(call);
      add({ kind: 'call', method, url, stack: cut(call.trace?.stack, 3000) }, call.startedAt + call.ms);
    }
  }

  for (const type of Object.keys(ITEMS)) addEventListener(type, (event) => quietly(() => take(event)), true);
  for (const event of takeEarly()) quietly(() => take(event));
  quietly(() => watchPolicies((given, at) => quietly(() => add(policyItem(given), at))));
  watchJson((item) => add({ kind: 'rejection', ...item }, performance.now()));
  // A trap that is looked up, and is not there: the browser's own function is called by the page, with the page's line in the console.
  replaceByProxy(console, 'error', {
    get apply() {
      quietly(() => add({ kind: 'console', stack: cut(new Error().stack, 3000) }, performance.now()));
      return undefined;
    },
  });
  addEventListener('pagehide', () => quietly(() => flush(true)));
  return (listed) => quietly(() => takeCalls(listed));
}
