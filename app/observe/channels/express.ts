/**
 * Express and router -> channels: `express-hindsight:express:register` (layers were added to a router), `:use` (something was added to an
 * application) and `:init` (an application was made).
 */
import { channel } from 'node:diagnostics_channel';
import { stackOf } from '../../profiler/record/express-routers.ts';
import { allOf, wrapCalls } from './wrap-method.ts';

export interface Registered {
  router: unknown;
  before: number;
  /** Of `router.param`, which adds no layer. */
  callback?: unknown;
}

export interface Used {
  app: object;
  values: readonly unknown[];
}

const register = channel('express-hindsight:express:register');
const use = channel('express-hindsight:express:use');
const init = channel('express-hindsight:express:init');

export const expressChannels = { register, use, init };

const METHODS = ['use', 'route'] as const;

function hasMethods(holder: object): boolean {
  return METHODS.every((name) => typeof Object.getOwnPropertyDescriptor(holder, name)?.value === 'function');
}

/** What the routers of a copy inherit their methods from: `Router` itself in Express 4, its prototype in router 2; null if it is neither. */
export function routerMethodsOf(given: unknown): object | null {
  if (typeof given !== 'function') return null;
  const { prototype } = given as { prototype?: unknown };
  let holder: object | null = typeof prototype === 'function' ? prototype : given;
  while (holder !== null && !hasMethods(holder)) holder = Object.getPrototypeOf(holder) as object | null;
  return holder;
}

/** What `routerMethodsOf` found: the whole copy publishes. `get`, `post` … all call `route`. */
export function publishRegistrations(holder: object): (() => void) | null {
  const undo = [...METHODS, 'param'].map((name) =>
    wrapCalls(holder, name, (call, router, [, callback]) => {
      const before = stackOf(router)?.length ?? 0;
      const result = call();
      register.publish({ router, before, ...(name === 'param' ? { callback } : {}) } satisfies Registered);
      return result;
    }),
  );
  return allOf(...undo);
}

/** Makes an application publish what is added to it, and with no values that Express 4 has made its router: with what is added first. */
export function publishUses(app: object): (() => void) | null {
  const publishing = (call: () => unknown, self: unknown, values: readonly unknown[]): unknown => {
    const result = call();
    if (self === app && use.hasSubscribers) use.publish({ app, values } satisfies Used);
    return result;
  };
  const names = 'lazyrouter' in app ? ['use', 'lazyrouter'] : ['use'];
  return allOf(...names.map((name) => wrapCalls(app, name, publishing)));
}

/** The exports of a copy of Express, whose applications copy their methods from `application`. */
export function publishInits({ application }: { application?: unknown }): (() => void) | null {
  return wrapCalls(application, 'init', (call, app) => {
    const result = call();
    init.publish(app);
    return result;
  });
}
