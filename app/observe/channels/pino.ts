/** pino before 9.8 -> its later channel `pino_asJson`, for each finished line; from then on it publishes by itself. */
import { tracingChannel } from 'node:diagnostics_channel';
import type { LibraryPatch } from '../libraries.ts';
import { wrapCalls } from './wrap-method.ts';

const { end } = tracingChannel('pino_asJson');
const PUBLISHES = /\bhasSubscribers\b/;

export const pinoPatch: LibraryPatch = {
  name: 'pino',
  file: 'lib/proto.js',
  patch(exports) {
    if (typeof exports !== 'function') return null;
    // All loggers inherit from this, also those made before.
    const prototype: unknown = Object.getPrototypeOf((exports as () => object)());
    if (typeof prototype !== 'object' || prototype === null) return null;
    const name = Object.getOwnPropertySymbols(prototype).find(
      ({ description }) => description === 'pino.asJson',
    );
    const asJson: unknown = name === undefined ? undefined : Reflect.get(prototype, name);
    if (name === undefined || typeof asJson !== 'function') return null;
    if (PUBLISHES.test(Function.prototype.toString.call(asJson))) return () => undefined;
    return wrapCalls(prototype, name, (call, instance, args) => {
      const result = call();
      if (end.hasSubscribers) end.publish({ instance, arguments: args, result });
      return result;
    });
  },
};
