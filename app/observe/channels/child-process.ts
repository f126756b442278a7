/** The synchronous calls of node:child_process; Node publishes the others on its channel `child_process`. */
import { tracingChannel } from 'node:diagnostics_channel';
import { syncBuiltinESMExports } from 'node:module';
import type { LibraryPatch } from '../libraries.ts';
import { traceCall, type Traced } from './trace.ts';
import { allOf, wrapMethod } from './wrap-method.ts';

/** The result of `spawnSync` contains how it ended; the other two throw if it failed. */
export interface RanSync extends Traced {
  /** With its arguments; a command of `execSync` is one text. */
  command: unknown;
  args: unknown;
}

export const syncProcessChannel = tracingChannel('express-hindsight:child_process:sync');

export const childProcessPatch: LibraryPatch = {
  name: 'node:child_process',
  patch(exports) {
    const undo = allOf(
      ...['spawnSync', 'execFileSync', 'execSync'].map((name) =>
        wrapMethod(
          exports,
          name,
          (original) =>
            function (this: unknown, ...args) {
              const call = (): unknown => Reflect.apply(original, this, args);
              if (!syncProcessChannel.start.hasSubscribers) return call();
              const message: RanSync = { command: args[0], args: name === 'execSync' ? [] : args[1] };
              return traceCall(syncProcessChannel, message, call);
            },
        ),
      ),
    );
    if (undo === null) return null;
    // What ES modules imported by name follows.
    syncBuiltinESMExports();
    return () => {
      undo();
      syncBuiltinESMExports();
    };
  },
};
