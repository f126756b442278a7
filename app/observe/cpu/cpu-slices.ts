/**
 * When code of one request ran, by the async hooks before and after each callback. They cost every callback of the process,
 * so they are on only while a request is sampled.
 */
import { createHook } from 'node:async_hooks';
import type { Context, ContextTracker } from '../../profiler/record/context.ts';

export interface Slices {
  own: readonly number[];
  otherMs: number;
}

const MOST = 20_000;
/** A pause that is shorter is part of the slice. */
const JOINED_MS = 0.05;
/** A callback that throws has no end: what it left behind is bounded. */
const DEEPEST = 200;

export function watchSlices(tracker: ContextTracker, target: Context) {
  const own: number[] = [];
  let otherMs = 0;
  let owner: Context | null = null;
  let since = performance.now();
  let outer: (Context | null)[] = [];

  function close(now: number): void {
    if (owner === null) return;
    if (owner !== target) {
      otherMs += now - since;
      return;
    }
    const last = own.length - 1;
    if (last > 0 && (since - (own[last] ?? 0) < JOINED_MS || own.length >= MOST * 2)) own[last] = now;
    else own.push(since, now);
  }

  function change(next: Context | null): void {
    if (next === owner) return;
    const now = performance.now();
    close(now);
    owner = next;
    since = now;
  }

  const hook = createHook({
    before() {
      if (outer.length >= DEEPEST) outer = [];
      outer.push(owner);
      change(tracker.observed() ?? null);
    },
    after() {
      change(outer.pop() ?? null);
    },
  }).enable();

  return {
    /** Runs `work`, the first callback, in which the hooks do not see the context. */
    run<T>(work: () => T): T {
      const before = owner;
      change(target);
      try {
        return work();
      } finally {
        change(before);
      }
    },
    end(): Slices {
      hook.disable();
      change(null);
      return { own, otherMs };
    },
  };
}

export type SliceWatch = ReturnType<typeof watchSlices>;
