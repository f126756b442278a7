/** `mongodb` (drivers 6 and 7) -> channel `express-hindsight:mongodb:command`: each command as a connection sends it. */
import { tracingChannel } from 'node:diagnostics_channel';
import type { LibraryPatch } from '../libraries.ts';
import { publishing, type Traced } from './trace.ts';
import { ownerOf, wrapMethod } from './wrap-method.ts';

export interface MongodbCommand extends Traced {
  connection: object;
  namespace: unknown;
  command: Record<string, unknown>;
}

const command = tracingChannel('express-hindsight:mongodb:command');

export const mongodbChannels = { command };

export const mongodbPatch: LibraryPatch = {
  name: 'mongodb',
  file: 'lib/cmap/connection.js',
  patch(exports) {
    const { Connection } = exports as { Connection?: { prototype: object } };
    return wrapMethod(ownerOf(Connection?.prototype, 'command'), 'command', (original) => {
      // Driver 5 calls back from its pool, in the request that released the connection: commands would be recorded for the wrong request.
      if (Object.prototype.toString.call(original) !== '[object AsyncFunction]') return null;
      return publishing(original, command, (connection, [namespace, sent]): MongodbCommand | null =>
        typeof sent === 'object' && sent !== null
          ? { connection, namespace, command: sent as Record<string, unknown> }
          : null,
      );
    });
  },
};
