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
  /** The methods as they were below the shared ones; null where this response has to be watched on its own. */
  of(res: ServerResponse): ObservableMethods | null;
  /** The same for one that is watched already, whatever has been put on it meanwhile: null where nothing can be shared. */
  given(res: ServerResponse): ObservableMethods | null;
  /** Undoes what was replaced, where nobody has replaced it since. */
  restore(): void;
}

/** `app.response` of the outermost application: Express gives it a property `app`. null for what is not of Express. */
function outermost(prototype: object): object | null {
  let found: object | null = null;
  for (let at: object | null = prototype; at !== null; at = Object.getPrototypeOf(at) as object | null) {
    if (Object.hasOwn(at, 'app')) found = at;
  }
  return found;
}

/** Whether a method can be put on it: a host may have frozen it, or some of its methods. */
function takesMethods(target: object): boolean {
  return NAMES.every((name) => {
    const own = Object.getOwnPropertyDescriptor(target, name);
    return own === undefined ? Object.isExtensible(target) : own.configurable === true;
  });
}

/** Looks like the method that it stands for, to who asks for its name or number of parameters. */
function disguise(method: object, original: object): void {
  for (const key of ['name', 'length']) {
    const described = Object.getOwnPropertyDescriptor(original, key);
    if (described !== undefined) Object.defineProperty(method, key, described);
  }
}

export function createSharedMethods(
  observe: (methods: ObservableMethods) => ObservableMethods,
): SharedMethods {
  /** By the prototype of a response: the methods below; null where they can't be shared. */
  const known = new WeakMap<object, ObservableMethods | null>();
  const installed = new WeakMap<object, ObservableMethods>();
  const undo: (() => void)[] = [];

  function install(target: ObservableMethods): ObservableMethods {
    // What it inherits is looked up at each call: others may replace it later.
    const before = Object.create(Object.getPrototypeOf(target) as object) as ObservableMethods;
    const observed = observe(before);
    for (const name of NAMES) {
      const own = Object.getOwnPropertyDescriptor(target, name);
      if (own !== undefined) Object.defineProperty(before, name, own);
      disguise(observed[name], before[name]);
      // Enumerable as those of node:http are: a host may copy a response's methods by `for … in`.
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
      // Whoever wrapped a method of this first response took the one below ours.
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
