/**
 * Replaces a method of a library once per process, however many profilers ask for it: a second wrapper would record everything twice.
 * The last one to undo it restores the original.
 */
export type Method = (this: unknown, ...args: unknown[]) => unknown;

interface Placed {
  original: Method;
  wrapper: Method;
  /** False if the object has been frozen since: the wrapper stays, and only calls the original. */
  restore: () => boolean;
}

interface Wrapped extends Placed {
  users: number;
}

/** On the process, because two copies of this package may run in it. */
const REGISTRY = Symbol.for('express-hindsight.wrapped-methods');

function wrappedMethods(): WeakMap<object, Map<PropertyKey, Wrapped>> {
  const holder = globalThis as { [REGISTRY]?: WeakMap<object, Map<PropertyKey, Wrapped>> };
  return (holder[REGISTRY] ??= new WeakMap());
}

/** A getter that is called wherever the method is read; on an instance, the method can be assigned as before. */
function readable(name: PropertyKey, wrapper: Method, onRead: (self: object) => void): PropertyDescriptor {
  return {
    get(this: object) {
      onRead(this);
      return wrapper;
    },
    set(this: object, value: unknown) {
      Object.defineProperty(this, name, { value, writable: true, enumerable: true, configurable: true });
    },
  };
}

function replace(
  target: object,
  name: PropertyKey,
  { wrapper, onRead }: { wrapper: Method; onRead: ((self: object) => void) | undefined },
): (() => boolean) | null {
  const own = Object.getOwnPropertyDescriptor(target, name);
  const original: unknown = Reflect.get(target, name);
  const described = own ?? Object.getOwnPropertyDescriptor(ownerOf(target, name) ?? {}, name);
  const place = { configurable: true, enumerable: described?.enumerable ?? false };
  try {
    // Its length, and what else a function may have: `util.promisify.custom`, the calls of a mock.
    for (const key of Reflect.ownKeys(original as object))
      if (key === 'length' || !Object.hasOwn(wrapper, key))
        Object.defineProperty(wrapper, key, Object.getOwnPropertyDescriptor(original, key) ?? {});
    // An accessor that hands over a function of an ES module is called; anything else is defined.
    if (onRead !== undefined)
      Object.defineProperty(target, name, { ...place, ...readable(name, wrapper, onRead) });
    else if (own?.set !== undefined) Reflect.set(target, name, wrapper);
    else Object.defineProperty(target, name, { ...place, value: wrapper, writable: true });
  } catch {
    return null;
  }
  return () => {
    if (own === undefined) return Reflect.deleteProperty(target, name);
    if (own.set === undefined) return Reflect.defineProperty(target, name, own);
    return Reflect.set(target, name, original);
  };
}

interface Making {
  /** Gets the method and returns its replacement, or null for an unexpected method. */
  make: (original: Method) => Method | null;
  onRead: ((self: object) => void) | undefined;
}

function place(target: object, name: PropertyKey, { make, onRead }: Making): Placed | null {
  const original: unknown = Reflect.get(target, name);
  if (typeof original !== 'function') return null;
  const wrapper = make(original as Method);
  if (wrapper === null) return null;
  Object.defineProperty(wrapper, 'name', { value: original.name, configurable: true });
  const restore = replace(target, name, { wrapper, onRead });
  return restore === null ? null : { original: original as Method, wrapper, restore };
}

/**
 * Tracers of OpenTelemetry take their wrapper off by its `__unwrap` before they wrap a method again, as a CommonJS file and as an ES
 * module. It must be the outermost one, so ours makes way: otherwise each call has two spans.
 */
function makeWay(
  { original, wrapper, restore }: Placed,
  target: object,
  name: PropertyKey,
  again: () => void,
): void {
  const { __unwrap: unwrap } = original as { __unwrap?: unknown };
  if (typeof unwrap !== 'function') return;
  const value = (): void => {
    if (Reflect.get(target, name) !== wrapper || !restore()) return;
    Reflect.apply(unwrap, original, []);
    again();
  };
  Reflect.defineProperty(wrapper, '__unwrap', { value, writable: true, configurable: true });
}

/**
 * Returns a function that restores the method; null if there is no such method, or it can't be replaced. Never throws. `onRead` is
 * called with the object whenever its method is read, and must not throw.
 */
export function wrapMethod(
  target: unknown,
  name: PropertyKey,
  make: Making['make'],
  onRead?: (self: object) => void,
): (() => void) | null {
  if ((typeof target !== 'object' && typeof target !== 'function') || target === null) return null;
  const registry = wrappedMethods();
  const methods = registry.get(target) ?? new Map<PropertyKey, Wrapped>();
  registry.set(target, methods);
  const wrap = (): void => {
    const placed = place(target, name, { make, onRead });
    if (placed === null) {
      methods.delete(name);
      return;
    }
    methods.set(name, Object.assign(methods.get(name) ?? { users: 0 }, placed));
    makeWay(placed, target, name, wrap);
  };
  if (!methods.has(name)) wrap();
  const entry = methods.get(name);
  if (entry === undefined) return null;
  entry.users++;
  let isUndone = false;
  return () => {
    if (isUndone) return;
    isUndone = true;
    entry.users--;
    if (entry.users > 0) return;
    // What somebody else has wrapped since stays: without subscribers it only calls the original.
    if (Reflect.get(target, name) !== entry.wrapper) return;
    if (entry.restore()) methods.delete(name);
  };
}

/** The same for a replacement that calls the original: `around` gets the call, its object and its arguments, which it may change in place. */
export function wrapCalls(
  target: unknown,
  name: PropertyKey,
  around: (call: () => unknown, self: object, args: unknown[]) => unknown,
): (() => void) | null {
  return wrapMethod(
    target,
    name,
    (original) =>
      function (this: unknown, ...args) {
        return around(() => Reflect.apply(original, this, args), this as object, args);
      },
  );
}

/** Replaces a method until it is undone, unless somebody else has replaced it since. One that a host has frozen stays. */
export function replaceMethod<T extends object, K extends keyof T>(
  target: T,
  name: K,
  method: T[K],
): () => void {
  const restore = replace(target, name, { wrapper: method as Method, onRead: undefined });
  return () => {
    if (target[name] === method) restore?.();
  };
}

export function allOf(...undo: readonly ((() => void) | null)[]): (() => void) | null {
  const done = undo.filter((one) => one !== null);
  const undoAll = (): void => {
    for (const one of done) one();
  };
  if (done.length === undo.length) return undoAll;
  undoAll();
  return null;
}

export function ownerOf(start: unknown, name: PropertyKey): object | null {
  let holder = start ?? null;
  while (holder !== null && !Object.hasOwn(holder, name))
    holder = Object.getPrototypeOf(holder) as object | null;
  return holder;
}
