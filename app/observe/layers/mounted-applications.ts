/**
 * Which application a layer calls: Express mounts one as a closure that does not show it. Each known application publishes what is
 * added to it; what was mounted before is learned when a request reaches it.
 */
import { type Layer, routerOf, stackOf } from '../../profiler/record/express-routers.ts';
import { expressChannels, publishInits, publishUses, type Used } from '../channels/express.ts';
import { closing, subscribeTo } from '../subscribe.ts';
import { createUndoList } from '../undo-list.ts';

function isApplication(value: unknown): value is object {
  return typeof value === 'function' && 'handle' in value && 'set' in value && 'use' in value;
}

/** `onUse`: something was added to an application, which has a router now. */
export function createMountedApplications({
  onUse = () => undefined,
}: {
  onUse?: (app: unknown) => void;
} = {}) {
  const mounted = new WeakMap<object, unknown>();
  const watched = new WeakSet<object>();
  const changed = createUndoList();
  const libraries: ((() => void) | null)[] = [];

  function watch(app: unknown): void {
    if (typeof app !== 'function' || watched.has(app) || !isApplication(app)) return;
    watched.add(app);
    const undo = publishUses(app);
    if (undo !== null) changed.add(app, undo);
  }

  function onUsed(message: unknown): void {
    const { app, values } = message as Used;
    if (!watched.has(app)) return;
    onUse(app);
    const handlers = values.flat(Infinity).filter((value) => typeof value === 'function');
    const layers: readonly Layer[] = stackOf(routerOf(app))?.slice(-handlers.length) ?? [];
    for (const [index, handler] of handlers.entries()) {
      const layer = layers[index];
      if (!isApplication(handler) || layer === undefined) continue;
      mounted.set(layer, handler);
      watch(handler);
    }
  }

  const subscriptions = closing([
    subscribeTo(expressChannels.use, onUsed),
    subscribeTo(expressChannels.init, watch),
  ]);
  return {
    watch,
    watchLibrary(express: unknown): void {
      libraries.push(publishInits(express as object));
    },
    /** A request found this application behind a layer. */
    learn(layer: object, app: unknown): void {
      if (isApplication(app)) mounted.set(layer, app);
    },
    of: (layer: object) => mounted.get(layer),
    close(): void {
      subscriptions.close();
      for (const undo of libraries.splice(0)) undo?.();
      changed.undo();
    },
  };
}

export type MountedApplications = ReturnType<typeof createMountedApplications>;
