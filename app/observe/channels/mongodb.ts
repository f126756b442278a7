/** `mongodb` (drivers 5 to 7) -> channel `express-hindsight:mongodb:command`: each command as a connection sends it. */
import { tracingChannel } from 'node:diagnostics_channel';
import type { LibraryPatch } from '../libraries.ts';
import { traceCall, traceSync, type Traced, tracedCallback } from './trace.ts';
import { ownerOf, wrapMethod } from './wrap-method.ts';

export interface MongodbCommand extends Traced {
  connection: object;
  command: Record<string, unknown>;
}

const command = tracingChannel('express-hindsight:mongodb:command');

export const mongodbChannels = { command };

export const mongodbPatch: LibraryPatch = {
  name: 'mongodb',
  file: 'lib/cmap/connection.js',
  patch(exports) {
    const { Connection } = exports as { Connection?: { prototype: object } };
    return wrapMethod(
      ownerOf(Connection?.prototype, 'command'),
      'command',
      (original) =>
        function (this: unknown, ...args) {
          const [, sent] = args;
          const call = (): unknown => Reflect.apply(original, this, args);
          if (!command.start.hasSubscribers || typeof sent !== 'object' || sent === null) return call();
          const message: MongodbCommand = {
            connection: this as object,
            command: sent as Record<string, unknown>,
          };
          const callback = args.at(-1);
          // Driver 5 calls back; later ones pass the class of the response.
          if (typeof callback !== 'function' || 'make' in callback) return traceCall(command, message, call);
          args[args.length - 1] = tracedCallback(
            command,
            message,
            callback as (...given: unknown[]) => unknown,
          );
          return traceSync(command, message, call);
        },
    );
  },
};
