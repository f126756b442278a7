/**
 * Where each layer was registered: `src/app.ts:21`. Each copy of Express or router publishes what is added to its routers: one call
 * site per registration, none per request. Modules register routes while they are imported, mostly before a profiler is created, so
 * we watch from the moment this package is loaded. Layers registered before have no source.
 */
import { type Layer, stackOf } from '../../profiler/record/express-routers.ts';
import {
  type FindNextCaller,
  type FindRegistration,
  noteModule,
  type Site,
  takeSites,
} from '../stacks/caller.ts';
import {
  expressChannels,
  publishRegistrations,
  type Registered,
  routerMethodsOf,
} from '../channels/express.ts';
import type { FindMethod } from '../stacks/class-places.ts';
import { type LibraryPatch, watchLibraries } from '../libraries.ts';
import { subscribeTo } from '../subscribe.ts';

export interface RouterLibrary {
  prototype: object;
}

/** On the process: a profiler reads what was registered before it was created, or while another one recorded. */
const REGISTERED = Symbol.for('express-hindsight.registered');

interface Registration {
  place: string | null;
  isOfLibrary: boolean;
}

/** By layer: the stack, until the first reader has found the place in it. */
function registered(): WeakMap<object, readonly Site[] | Registration> {
  const holder = globalThis as { [REGISTERED]?: WeakMap<object, readonly Site[] | Registration> };
  return (holder[REGISTERED] ??= new WeakMap());
}

function onRegistered(message: unknown): void {
  const { router, before, callback } = message as Registered;
  const known = registered();
  const added: object[] = (stackOf(router)?.slice(before) ?? []).filter((layer) => !known.has(layer));
  if (typeof callback === 'function' && !known.has(callback)) added.push(callback);
  if (added.length === 0) return;
  const sites = takeSites();
  for (const site of sites) noteModule(site.getFileName() ?? '');
  for (const layer of added) {
    known.set(layer, sites);
    // Handlers are added to the route later. If a function calls the router, the route is all that leads from them to this line.
    const { route } = layer as Layer;
    if (typeof route === 'object' && route !== null) known.set(route, sites);
  }
}

export interface RegistrationOptions {
  findRegistration: FindRegistration;
  findMethod?: FindMethod;
  findNextCaller?: FindNextCaller;
}

export function observeRegistrations({
  findRegistration,
  findMethod = () => null,
  findNextCaller,
}: RegistrationOptions) {
  const observed = new WeakSet();
  const restore: (() => void)[] = [];

  /** Of NestJS: the method of a controller, or a class of middleware. */
  function methodPlace(layer: Layer): string | null {
    const name = String((stackOf(layer.route)?.[0] ?? layer).name);
    return findMethod(name.includes('.') ? name : `${name}.use`);
  }

  function placeOf(layer: Layer, sites: readonly Site[]): string | null {
    let place: string | null = null;
    try {
      place = findRegistration(sites);
      return place?.startsWith('@nestjs/') === true ? (methodPlace(layer) ?? place) : place;
    } catch {
      return place;
    }
  }

  function registrationOf(layer: object): Registration | undefined {
    const found = registered().get(layer);
    if (found === undefined || 'place' in found) return found;
    const made = { place: placeOf(layer, found), isOfLibrary: findNextCaller?.(found) === null };
    registered().set(layer, made);
    return made;
  }

  const unsubscribe = subscribeTo(expressChannels.register, onRegistered);
  return {
    observe(router: unknown): void {
      const methods = routerMethodsOf(router);
      if (methods === null || observed.has(methods)) return;
      observed.add(methods);
      const undo = publishRegistrations(methods);
      if (undo !== null) restore.push(undo);
    },
    sourceOf: (layer: object): string | null => registrationOf(layer)?.place ?? null,
    /** A library registered it, such as a framework that makes handlers of controllers. */
    isOfLibrary: (layer: object): boolean => registrationOf(layer)?.isOfLibrary ?? false,
    close(): void {
      unsubscribe();
      for (const undo of restore.splice(0)) undo();
    },
  };
}

let endEarly: (() => void) | null = null;

/** Notes registrations until the first profiler of this process is created, which goes on. */
export function watchEarlyRegistrations(): void {
  if (endEarly !== null) return;
  const observer = observeRegistrations({ findRegistration: () => null });
  const patches = ['express', 'router'].map((name): LibraryPatch => ({
    name,
    patch(exports) {
      observer.observe((exports as { Router?: unknown }).Router ?? exports);
      return () => undefined;
    },
  }));
  const libraries = watchLibraries(patches);
  endEarly = () => {
    libraries.close();
    observer.close();
  };
}

export function endEarlyRegistrations(): void {
  endEarly?.();
  endEarly = () => undefined;
}
