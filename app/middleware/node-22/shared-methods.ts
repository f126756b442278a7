/**
 * Goes with Node 22 (decision 14). Replaces the methods of all responses of an Express application at once: on `app.response`,
 * which each of them inherits from, also within mounted applications.
 */
import type { ServerResponse } from 'node:http';

const NAMES = [
  'writeHead', 'write', 'end', 'emit', 'setHeader', 'appendHeader', 'removeHeader',
] as const; // prettier-ignore

export type ObservableMethods = Pick<ServerResponse, (typeof NAMES)[number]>;

export interface SharedMethods {
  /** The methods below the shared ones; null if this response needs methods of its own. */
  of(res: ServerResponse): ObservableMethods | null;
  /** The same for a response that is watched already, whatever was set on it since; null if nothing can be shared. */
  given(res: ServerResponse): ObservableMethods | null;
  /** Restores the methods, unless somebody has replaced ours since. */
  restore(): void;
}

/** `app.response` of the outermost application, which has a property `app`; null outside of Express. */
function outermost(prototype: object): object | null {
  let found: object | null = null;
  for (let at: object | null = prototype; at !== null; at = Object.getPrototypeOf(at) as object | null) {
    if (Object.hasOwn(at, 'app')) found = at;
  }
  return found;
}

/** Whether methods can be replaced: a host may have frozen the object, or some of its methods. */
function takesMethods(target: object): boolean {
  return NAMES.every((name) => {
    const own = Object.getOwnPropertyDescriptor(target, name);
    return own === undefined ? Object.isExtensible(target) : own.configurable === true;
  });
}

/** Gives a method the name and number of parameters of the original. */
function disguise(method: object, original: object): void {
  for (const key of ['name', 'length']) {
    const described = Object.getOwnPropertyDescriptor(original, key);
    if (described !== undefined) Object.defineProperty(method, key, described);
  }
}

export function createSharedMethods(
  observe: (methods: ObservableMethods) => ObservableMethods,
): SharedMethods {
  /** By the prototype of a response: the methods below; null if they can't be shared. */
  const known = new WeakMap<object, ObservableMethods | null>();
  const installed = new WeakMap<object, ObservableMethods>();
  const undo: (() => void)[] = [];

  function install(target: ObservableMethods): ObservableMethods {
    // Inherited methods are looked up at each call: others may replace them later.
    const before = Object.create(Object.getPrototypeOf(target) as object) as ObservableMethods;
    const observed = observe(before);
    for (const name of NAMES) {
      const own = Object.getOwnPropertyDescriptor(target, name);
      if (own !== undefined) Object.defineProperty(before, name, own);
      disguise(observed[name], before[name]);
      // Enumerable like those of node:http: a host may copy a response's methods by `for … in`.
      Object.defineProperty(target, name, {
        value: observed[name],
        writable: true,
        enumerable: true,
        configurable: true,
      });
      undo.push(() => {
        if (target[name] !== observed[name]) return;
        if (own === undefined) Reflect.deleteProperty(target, name);
        else Object.defineProperty(target, name, own);
      });
    }
    installed.set(target, before);
    return before;
  }

  function below(prototype: object): ObservableMethods | null {
    const target = outermost(prototype) as ObservableMethods | null;
    const given = target === null ? undefined : installed.get(target);
    return given ?? (target !== null && takesMethods(target) ? install(target) : null);
  }

  return {
    of(res) {
      const prototype = Object.getPrototypeOf(res) as object;
      const before = known.get(prototype);
      if (before !== undefined) return before;
      const methods = below(prototype);
      // A wrapper on this first response was created before ours, and calls the method below it.
      if (NAMES.some((name) => Object.hasOwn(res, name))) return null;
      known.set(prototype, methods);
      return methods;
    },
    given(res) {
      const prototype = Object.getPrototypeOf(res) as object;
      const before = known.get(prototype);
      if (before !== undefined) return before;
      const methods = below(prototype);
      known.set(prototype, methods);
      return methods;
    },
    restore() {
      for (const back of undo.reverse()) back();
    },
  };
}
