/**
 * Replaces methods of responses in the prototype where Node.js defines them: a response has no property of ours, and methods that an
 * application replaces, on a response or on `app.response`, are still called. One replacement serves all profilers of the process.
 */
const NAMES = [
  'writeHead', 'write', 'end', 'emit', 'setHeader', 'appendHeader', 'removeHeader',
] as const; // prettier-ignore

export type Method = (...args: unknown[]) => unknown;
type Methods = Record<(typeof NAMES)[number], Method>;

export type ResponseObserver = Partial<
  Record<(typeof NAMES)[number], (res: never, original: Method, args: unknown[]) => unknown>
>;

const observers = new WeakMap<object, ResponseObserver>();
/** They stay replaced: for a response that is not observed, a replacement only calls the original. */
const replaced = new WeakSet<object>();

/** Node's own prototype: the last in the chain that defines `writeHead`. */
function nodesPrototypeOf(res: object): object {
  let found = res;
  for (
    let at: object | null = res;
    at !== null && at !== Object.prototype;
    at = Object.getPrototypeOf(at) as object | null
  )
    if (Object.hasOwn(at, 'writeHead')) found = at;
  return found;
}

function replacementOf(name: (typeof NAMES)[number], before: Methods): Method {
  function hindsightResponse(this: never, ...args: unknown[]): unknown {
    const observe = observers.get(this)?.[name];
    return observe === undefined
      ? Reflect.apply(before[name], this, args)
      : observe(this, before[name], args);
  }
  for (const key of ['name', 'length']) {
    const described = Object.getOwnPropertyDescriptor(before[name], key);
    if (described !== undefined) Object.defineProperty(hindsightResponse, key, described);
  }
  return hindsightResponse;
}

export function replaceMethods(target: object): void {
  if (replaced.has(target)) return;
  replaced.add(target);
  // Inherited methods are looked up at each call: others may replace them later.
  const before = Object.create(Object.getPrototypeOf(target) as object) as Methods;
  for (const name of NAMES) {
    const own = Object.getOwnPropertyDescriptor(target, name);
    if (own !== undefined) Object.defineProperty(before, name, own);
    const value = replacementOf(name, before);
    // Enumerable: an application may copy the methods of a response by `for … in`.
    Reflect.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
  }
}

export function observeResponse(res: object, observer: ResponseObserver): void {
  replaceMethods(nodesPrototypeOf(res));
  observers.set(res, observer);
}

export function forgetResponse(res: object): void {
  observers.delete(res);
}
