/**
 * Which application stands behind a layer: Express mounts one as a closure that does not tell. `use` of each known application is
 * wrapped, and restored on close; what was mounted before is learned when a request reaches it.
 */
import { type Layer, routerOf, stackOf } from './express-routers.ts';

export interface MountedApplications {
  /** Follows an application, and those that are mounted on it from now on. Does not touch its router, which may not be made yet. */
  watch(app: unknown): void;
  /** Follows the applications that this copy of Express makes from now on. */
  watchLibrary(express: unknown): void;
  /** A request found this application behind a layer. */
  learn(layer: object, app: unknown): void;
  /** The application that a layer calls; undefined where none is known. */
  of(layer: object): unknown;
  close(): void;
}

type Init = (this: unknown, ...args: unknown[]) => unknown;
type Use = (this: unknown, ...values: unknown[]) => unknown;

interface Application {
  use: Use;
}

function isApplication(value: unknown): value is Application {
  return typeof value === 'function' && 'handle' in value && 'set' in value && 'use' in value;
}

/** `onRouter`: the router of an application, after something was added to it. */
export function createMountedApplications({
  onRouter = () => undefined,
}: {
  onRouter?: (router: unknown) => void;
} = {}): MountedApplications {
  const mounted = new WeakMap<object, unknown>();
  const watched = new WeakMap<object, () => void>();
  const restore: (() => void)[] = [];
  /** Held weakly: a host may create applications for each request. */
  const refs = new Set<WeakRef<object>>();
  const forgotten = new FinalizationRegistry<WeakRef<object>>((ref) => refs.delete(ref));

  function note(app: Application, values: readonly unknown[]): void {
    const handlers = values.flat(Infinity).filter((value) => typeof value === 'function');
    const router = routerOf(app);
    const layers: readonly Layer[] = stackOf(router)?.slice(-handlers.length) ?? [];
    onRouter(router);
    for (const [index, handler] of handlers.entries()) {
      const layer = layers[index];
      if (!isApplication(handler) || layer === undefined) continue;
      mounted.set(layer, handler);
      watch(handler);
    }
  }

  function watch(app: unknown): void {
    if (typeof app !== 'function' || watched.has(app) || !isApplication(app)) return;
    watched.set(app, () => undefined);
    const descriptor = Object.getOwnPropertyDescriptor(app, 'use');
    if (descriptor?.writable !== true || descriptor.configurable !== true) return;
    const original = app.use;
    const use: Use = function (this: unknown, ...values) {
      const result = Reflect.apply(original, this, values);
      try {
        if (this === app) note(app, values);
      } catch {
        // What was mounted is learned when a request reaches it.
      }
      return result;
    };
    Object.defineProperty(use, 'name', { value: original.name, configurable: true });
    Object.defineProperty(use, 'length', { value: original.length, configurable: true });
    Object.defineProperty(app, 'use', { ...descriptor, value: use });
    watched.set(app, () => {
      if (app.use === use) Object.defineProperty(app, 'use', descriptor);
    });
    const ref = new WeakRef(app);
    refs.add(ref);
    forgotten.register(app, ref);
  }

  function watchLibrary(express: unknown): void {
    const { application } = express as { application?: { init?: Init } };
    const descriptor =
      application === undefined ? undefined : Object.getOwnPropertyDescriptor(application, 'init');
    if (application === undefined || descriptor?.configurable !== true) return;
    const original = descriptor.value as Init;
    const init: Init = function (this: unknown, ...args) {
      const result = Reflect.apply(original, this, args);
      watch(this);
      return result;
    };
    Object.defineProperty(init, 'name', { value: original.name, configurable: true });
    Object.defineProperty(application, 'init', { ...descriptor, value: init });
    restore.push(() => {
      if (application.init === init) Object.defineProperty(application, 'init', descriptor);
    });
  }

  return {
    watch,
    watchLibrary,
    learn(layer, app) {
      if (isApplication(app)) mounted.set(layer, app);
    },
    of: (layer) => mounted.get(layer),
    close() {
      for (const undo of restore.splice(0)) undo();
      for (const ref of refs) {
        const app = ref.deref();
        if (app !== undefined) watched.get(app)?.();
      }
      refs.clear();
    },
  };
}
