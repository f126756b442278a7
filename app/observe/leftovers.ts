/**
 * What lives beside requests: intervals, by the line that set them up, and what grows from request to request, intervals and listeners.
 * A stack is taken when an interval is set, which is rare; of listeners, Node.js's own warning has it.
 */
import type { Context, ContextTracker } from '../profiler/record/context.ts';
import { dropOldest } from '../profiler/drop-oldest.ts';
import { onProcess } from '../profiler/record/process-events.ts';
import { type FindCaller, isProfilerFile, takeSites } from './stacks/caller.ts';
import { subscribeTo } from './subscribe.ts';
import { channel } from 'node:diagnostics_channel';
import { type Method, wrapMethod } from './channels/wrap-method.ts';

interface Interval {
  name: string;
  timer: NodeJS.Timeout;
  /** `file:line` that set it up, filled in by who subscribes; null: its function is not timed. */
  place: string | null;
}

interface IntervalRun {
  interval: Interval;
  from: number;
  to: number;
}

const intervalSet = channel('express-hindsight:interval:set');
const intervalRan = channel('express-hindsight:interval:ran');

/** Milliseconds; less blocks nobody. */
const LONG_MS = 10;

function patchSetInterval(): (() => void) | null {
  return wrapMethod(
    globalThis,
    'setInterval',
    (original) =>
      function (this: unknown, callback: unknown, ...rest: unknown[]) {
        if (typeof callback !== 'function' || !intervalSet.hasSubscribers)
          return Reflect.apply(original, this, [callback, ...rest]);
        const interval: Partial<Interval> = { name: callback.name, place: null };
        const timed: Method = function hindsightInterval(this: unknown, ...args) {
          const from = performance.now();
          try {
            return Reflect.apply(callback, this, args) as unknown;
          } finally {
            const to = performance.now();
            if (interval.place !== null && to - from >= LONG_MS) intervalRan.publish({ interval, from, to });
          }
        };
        const timer = Reflect.apply(original, this, [timed, ...rest]) as NodeJS.Timeout;
        intervalSet.publish(Object.assign(interval, { timer }));
        return timer;
      },
  );
}

export interface IntervalHolder {
  name: string;
  place: string;
}

export interface Grown {
  /** `timer`: its delay in milliseconds is the name; Node.js can't hold it, and ran it at once. */
  what: 'interval' | 'listener' | 'timer';
  name: string;
  place: string;
  count: number;
}

/** Share of a blocked time that one function has to cover. */
const MOST = 0.8;
const RUNS = 20;
const PLACES = 200;
const TIMERS = 100;
/** Timers of ended requests: fewer may be pollers that each client has one of. */
const FEWEST = 5;

export interface LeftoverParts {
  tracker: ContextTracker;
  findCaller: FindCaller;
}

interface Left {
  timer: WeakRef<NodeJS.Timeout & { _destroyed?: boolean }>;
  context: WeakRef<Context>;
}

interface Emitter {
  listenerCount?: (event: string | symbol) => number;
}

interface Leak extends Pick<Grown, 'name' | 'place'> {
  emitter: WeakRef<Emitter>;
  event: string | symbol;
}

interface MaxListenersWarning extends Error {
  emitter?: Emitter;
  type?: string | symbol;
}

const NONE: readonly number[] = [];

function isOurs(): boolean {
  const sites = takeSites(8);
  const at = sites.findLastIndex((site) => site.getFunctionName?.() === 'setInterval');
  return at === -1 || isProfilerFile(sites[at + 1]?.getFileName() ?? '');
}

export function observeLeftovers({ tracker, findCaller }: LeftoverParts) {
  const runs: IntervalRun[] = [];
  const byPlace = new Map<string, Left[]>();
  const leaks: Leak[] = [];
  const grownBy = new WeakMap<Context, Grown[]>();

  function note(context: Context, grown: Grown): void {
    grownBy.set(context, [...(grownBy.get(context) ?? []), grown]);
  }

  function onSet(interval: Interval): void {
    if (isOurs()) return;
    const place = findCaller({ isOwn: true });
    interval.place = place;
    const context = tracker.current();
    if (place === null || context === undefined) return;
    const alive = (byPlace.get(place) ?? []).filter(({ timer }) => timer.deref()?._destroyed === false);
    const left = alive.filter((one) => one.context.deref()?.ended !== false).length;
    const own = { timer: new WeakRef(interval.timer), context: new WeakRef(context) };
    byPlace.set(place, [...alive.slice(1 - TIMERS), own]);
    dropOldest(byPlace, PLACES);
    if (left >= FEWEST) note(context, { what: 'interval', name: interval.name, place, count: left });
  }

  function noteTimer(delayMs: string, stack: string): void {
    const place = findCaller({ stack, isOwn: true });
    const context = tracker.current();
    if (place !== null && context !== undefined)
      note(context, { what: 'timer', name: delayMs, place, count: 1 });
  }

  function onWarning(warning: MaxListenersWarning): void {
    const { name, message, emitter, type, stack = '' } = warning;
    if (name === 'TimeoutOverflowWarning') {
      noteTimer(/^\d+/.exec(message)?.[0] ?? '', stack);
      return;
    }
    if (name !== 'MaxListenersExceededWarning' || emitter?.listenerCount === undefined || type === undefined)
      return;
    const place = findCaller({ stack, isOwn: true });
    const context = tracker.current();
    if (place === null || context === undefined || leaks.length >= RUNS) return;
    leaks.push({ emitter: new WeakRef(emitter), event: type, name: String(type), place });
    note(context, { what: 'listener', name: String(type), place, count: emitter.listenerCount(type) });
  }

  const countOf = ({ emitter, event }: Leak): number => emitter.deref()?.listenerCount?.(event) ?? 0;
  const undo = [
    patchSetInterval(),
    subscribeTo<Interval>(intervalSet, onSet),
    subscribeTo<IntervalRun>(intervalRan, (run) => {
      runs.push(run);
      if (runs.length > RUNS) runs.shift();
    }),
    onProcess('warning', onWarning),
  ];

  return {
    holder(from: number, to: number): IntervalHolder | null {
      const run = runs.findLast(
        (one) => Math.min(one.to, to) - Math.max(one.from, from) >= (to - from) * MOST,
      );
      const { name = '', place = null } = run?.interval ?? {};
      return place === null ? null : { name, place };
    },
    /** Listeners of the events that Node.js has warned of. */
    counts: () => (leaks.length === 0 ? NONE : leaks.map(countOf)),
    grown(context: Context, before: readonly number[] | null): Grown[] {
      const noted = grownBy.get(context) ?? [];
      const more = (before ?? NONE).flatMap((count, at): Grown[] => {
        const leak = leaks[at];
        const now = leak === undefined ? 0 : countOf(leak);
        return leak === undefined || now <= count
          ? []
          : [{ what: 'listener', name: leak.name, place: leak.place, count: now }];
      });
      return [...noted, ...more];
    },
    close(): void {
      for (const one of undo) one?.();
    },
  };
}

export type Leftovers = ReturnType<typeof observeLeftovers>;
