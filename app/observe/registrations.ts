/**
 * Where each layer was registered: `src/app.ts:21`. Wraps `use` and `route` of the host's own Router prototype (`get`, `post` … all
 * call `route`): one call site per registration, none per request. Layers registered before have no source. Restored on close.
 */
import type { CaptureCaller } from './caller.ts';

/** The `Router` function of express or router. */
export interface RouterLibrary {
  prototype: object;
}

export interface RegistrationObserver {
  /** `file:line` of a layer's registration; null where it is not known. */
  sourceOf(layer: object): string | null;
  close(): void;
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

function placeOf(source: () => string | null): string | null {
  try {
    return source();
  } catch {
    return null;
  }
}

export function observeRegistrations(options: {
  Router: RouterLibrary;
  captureCaller: CaptureCaller;
}): RegistrationObserver {
  const { Router, captureCaller } = options;
  const sources = new WeakMap<object, string | null | (() => string | null)>();
  const restore: (() => void)[] = [];

  function stackOf(router: unknown): readonly unknown[] {
    const stack: unknown = (router as { stack?: unknown } | null | undefined)?.stack;
    return Array.isArray(stack) ? stack : [];
  }

  function note(router: unknown, before: number, below: Method): void {
    const added = stackOf(router).slice(before);
    if (added.length === 0) return;
    const source = captureCaller({ below });
    for (const layer of added) if (typeof layer === 'object' && layer !== null) sources.set(layer, source);
  }

  function wrap(name: 'use' | 'route'): void {
    const descriptor = Object.getOwnPropertyDescriptor(Router.prototype, name);
    if (descriptor?.configurable !== true || typeof descriptor.value !== 'function') return;
    const original = descriptor.value as Method;
    const observed: Method = function (this: unknown, ...args: unknown[]) {
      const before = stackOf(this).length;
      const result: unknown = Reflect.apply(original, this, args);
      note(this, before, observed);
      return result;
    };
    Object.defineProperty(observed, 'name', { value: name, configurable: true });
    Object.defineProperty(observed, 'length', { value: original.length, configurable: true });
    Object.defineProperty(Router.prototype, name, { ...descriptor, value: observed });
    restore.push(() => {
      const now = Object.getOwnPropertyDescriptor(Router.prototype, name)?.value as unknown;
      // If somebody has wrapped our method meanwhile, restoring would remove theirs too.
      if (now === observed) Object.defineProperty(Router.prototype, name, descriptor);
    });
  }

  wrap('use');
  wrap('route');
  return {
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
