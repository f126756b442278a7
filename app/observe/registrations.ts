/**
 * Where each layer was registered: `src/app.ts:21`. Each copy of Express or router publishes what is added to its routers:
 * one call site per registration, none per request. Layers registered before have no source.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { stackOf } from '../profiler/express-routers.ts';
import type { CaptureCaller } from './caller.ts';
import {
  expressChannels,
  publishRegistrations,
  type Registered,
  routerMethodsOf,
} from './channels/express.ts';

/** The `Router` function of express or router. */
export interface RouterLibrary {
  prototype: object;
}

export interface RegistrationObserver {
  /** `Router` of a library, or a router: layers that its copy registers from now on have a source. */
  observe(router: unknown): void;
  /** `file:line` of a layer's registration; null if unknown. */
  sourceOf(layer: object): string | null;
  close(): void;
}

function placeOf(source: () => string | null): string | null {
  try {
    return source();
  } catch {
    return null;
  }
}

export function observeRegistrations({
  captureCaller,
}: {
  captureCaller: CaptureCaller;
}): RegistrationObserver {
  const sources = new WeakMap<object, string | null | (() => string | null)>();
  const observed = new WeakSet();
  const restore: (() => void)[] = [];

  function onRegistered(message: unknown): void {
    const { router, before, below } = message as Registered;
    const added = stackOf(router)?.slice(before) ?? [];
    if (added.length === 0) return;
    const source = captureCaller({ below });
    for (const layer of added) if (typeof layer === 'object') sources.set(layer, source);
  }

  subscribe(expressChannels.register.name, onRegistered);
  return {
    observe(router) {
      const methods = routerMethodsOf(router);
      if (methods === null || observed.has(methods)) return;
      observed.add(methods);
      const undo = publishRegistrations(methods);
      if (undo !== null) restore.push(undo);
    },
    sourceOf(layer) {
      const source = sources.get(layer) ?? null;
      if (typeof source !== 'function') return source;
      const place = placeOf(source);
      sources.set(layer, place);
      return place;
    },
    close() {
      unsubscribe(expressChannels.register.name, onRegistered);
      for (const undo of restore.splice(0)) undo();
    },
  };
}
