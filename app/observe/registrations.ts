/**
 * Where each layer was registered: `src/app.ts:21`. Wraps `use` and `route` of each copy of Express or router that comes by (`get`,
 * `post` … all call `route`): one call site per registration, none per request. Layers registered before have no source. Restored on
 * close.
 */
import type { CaptureCaller } from './caller.ts';
import { stackOf } from '../profiler/express-routers.ts';

/** The `Router` function of express or router. */
export interface RouterLibrary {
  prototype: object;
}

export interface RegistrationObserver {
  /** `Router` of a library, or a router: layers that its copy registers from now on have a source. */
  observe(router: unknown): void;
  /** `file:line` of a layer's registration; null where it is not known. */
  sourceOf(layer: object): string | null;
  close(): void;
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

const METHODS = ['use', 'route'] as const;

function placeOf(source: () => string | null): string | null {
  try {
    return source();
  } catch {
    return null;
  }
}

function ownMethod(holder: object, name: string): PropertyDescriptor | null {
  const descriptor = Object.getOwnPropertyDescriptor(holder, name);
  return descriptor?.configurable === true && typeof descriptor.value === 'function' ? descriptor : null;
}

function hasMethods(holder: object): boolean {
  return METHODS.every((name) => ownMethod(holder, name) !== null);
}

/**
 * What the routers of a copy inherit their methods from: `Router` itself in Express 4, its prototype in router 2. Searched from
 * `Router` or from a router; null where it is neither.
 */
function methodsOf(given: unknown): object | null {
  if (typeof given !== 'function') return null;
  const { prototype } = given as { prototype?: unknown };
  let holder: object | null = typeof prototype === 'function' ? prototype : given;
  while (holder !== null && !hasMethods(holder)) holder = Object.getPrototypeOf(holder) as object | null;
  return holder;
}

export function observeRegistrations(options: { captureCaller: CaptureCaller }): RegistrationObserver {
  const { captureCaller } = options;
  const sources = new WeakMap<object, string | null | (() => string | null)>();
  const observed = new WeakSet();
  const restore: (() => void)[] = [];

  function note(router: unknown, before: number, below: Method): void {
    const added = stackOf(router)?.slice(before) ?? [];
    if (added.length === 0) return;
    const source = captureCaller({ below });
    for (const layer of added) if (typeof layer === 'object') sources.set(layer, source);
  }

  function wrap(holder: object, name: string): void {
    const descriptor = ownMethod(holder, name);
    if (descriptor === null) return;
    const original = descriptor.value as Method;
    const wrapped: Method = function (this: unknown, ...args: unknown[]) {
      const before = stackOf(this)?.length ?? 0;
      const result: unknown = Reflect.apply(original, this, args);
      note(this, before, wrapped);
      return result;
    };
    Object.defineProperty(wrapped, 'name', { value: name, configurable: true });
    Object.defineProperty(wrapped, 'length', { value: original.length, configurable: true });
    Object.defineProperty(holder, name, { ...descriptor, value: wrapped });
    restore.push(() => {
      // If somebody has wrapped our method meanwhile, restoring would remove theirs too.
      if (ownMethod(holder, name)?.value === wrapped) Object.defineProperty(holder, name, descriptor);
    });
  }

  return {
    observe(router) {
      const holder = methodsOf(router);
      if (holder === null || observed.has(holder)) return;
      observed.add(holder);
      for (const name of METHODS) wrap(holder, name);
    },
    sourceOf(layer) {
      const source = sources.get(layer) ?? null;
      if (typeof source !== 'function') return source;
      const place = placeOf(source);
      sources.set(layer, place);
      return place;
    },
    close() {
      for (const undo of restore.splice(0)) undo();
    },
  };
}
