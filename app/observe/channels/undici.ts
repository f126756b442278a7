/**
 * undici -> channel `express-hindsight:undici:dispatch`. It publishes a request when a connection takes it. A pool whose connections are
 * all busy queues it before that, and publishes nothing.
 */
import { tracingChannel } from 'node:diagnostics_channel';
import type { LibraryPatch } from '../libraries.ts';
import { ownerOf, wrapCalls } from './wrap-method.ts';

export interface Dispatched {
  /** Of the request; a pool hands the same object to its client later. */
  options: { origin?: unknown; path?: unknown; method?: unknown };
  dispatcher: { stats?: { queued?: unknown } };
  error?: unknown;
}

export const undiciChannel = tracingChannel<Dispatched, Dispatched>('express-hindsight:undici:dispatch');

interface Exports {
  Client?: { prototype?: object };
}

export const undiciPatch: LibraryPatch = {
  name: 'undici',
  patch: (exports) =>
    wrapCalls(
      ownerOf((exports as Exports).Client?.prototype, 'dispatch'),
      'dispatch',
      (call, dispatcher, [options]) =>
        typeof options === 'object' && options !== null
          ? undiciChannel.traceSync(call, { options, dispatcher })
          : call(),
    ),
};
