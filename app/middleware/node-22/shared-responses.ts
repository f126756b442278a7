/**
 * Goes with Node 22 (decision 14). Observes responses through the methods that an Express application's responses share, and finds the
 * state of each in a WeakMap: up to V8 12 methods or a property on each response cost more than all the rest of watching.
 */
import type { ServerResponse } from 'node:http';
import { createSharedMethods, type ObservableMethods } from './shared-methods.ts';

export interface SharedResponses<State extends object> {
  /** Observes a response of an Express application; false if it needs methods of its own. */
  add(res: ServerResponse, state: State): boolean;
  delete(res: ServerResponse): void;
  /** For a response that another application may have taken over, because it is called, not mounted (vhost). */
  follow(res: ServerResponse): void;
  /** Restores what was replaced. */
  close(): void;
}

interface Entry<State> {
  state: State;
  /** The methods below ours, in the application where it was added. Several of ours may be nested, but only one records. */
  methods: ObservableMethods;
  prototype: object;
  /** The methods below ours in the application that has it now. */
  current: ObservableMethods | null;
}

/** `observe` creates methods that call `methods` and record on the response that `find` returns. */
export function createSharedResponses<State extends object>(
  observe: (
    methods: ObservableMethods,
    find: (res: ServerResponse) => State | undefined,
  ) => ObservableMethods,
): SharedResponses<State> {
  const entries = new WeakMap<ServerResponse, Entry<State>>();
  /** About a dozen consecutive calls are for the same response, so the last one is cached. */
  let latest: { res: ServerResponse; entry: Entry<State> | undefined } | null = null;

  function entryOf(res: ServerResponse): Entry<State> | undefined {
    if (latest?.res !== res) latest = { res, entry: entries.get(res) };
    return latest.entry;
  }

  function follow(res: ServerResponse, entry: Entry<State>): void {
    const prototype = Object.getPrototypeOf(res) as object;
    if (entry.prototype === prototype) return;
    entry.prototype = prototype;
    entry.current = shared.given(res);
  }

  const shared = createSharedMethods((methods) =>
    observe(methods, (res) => {
      const entry = entryOf(res);
      if (entry === undefined || entry.methods === methods) return entry?.state;
      follow(res, entry);
      return entry.current === methods ? entry.state : undefined;
    }),
  );

  return {
    add(res, state) {
      const methods = shared.of(res);
      if (methods === null) return false;
      const prototype = Object.getPrototypeOf(res) as object;
      entries.set(res, { state, methods, prototype, current: methods });
      latest = null;
      return true;
    },
    delete(res) {
      entries.delete(res);
      if (latest?.res === res) latest = null;
    },
    follow(res) {
      const entry = entryOf(res);
      if (entry !== undefined) follow(res, entry);
    },
    close() {
      shared.restore();
    },
  };
}
