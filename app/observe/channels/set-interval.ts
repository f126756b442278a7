/** `setInterval` of the process: which timers there are, and how long their functions ran. */
import { channel } from 'node:diagnostics_channel';
import { type Method, wrapMethod } from './wrap-method.ts';

export interface Interval {
  name: string;
  timer: NodeJS.Timeout;
  /** `file:line` that set it up, filled in by who subscribes; null: its function is not timed. */
  place: string | null;
}

export interface IntervalRun {
  interval: Interval;
  from: number;
  to: number;
}

export const intervalSet = channel('express-hindsight:interval:set');
export const intervalRan = channel('express-hindsight:interval:ran');

/** Milliseconds; less blocks nobody. */
const LONG_MS = 10;

export function patchSetInterval(): (() => void) | null {
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
