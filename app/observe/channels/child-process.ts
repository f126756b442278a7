/** The synchronous calls of node:child_process; Node publishes the others on its channel `child_process`. */
import { tracingChannel } from 'node:diagnostics_channel';
import { syncBuiltinESMExports } from 'node:module';
import type { LibraryPatch } from '../libraries.ts';
import { publishCalls, type Traced } from './trace.ts';
import { allOf } from './wrap-method.ts';

export interface RanSync extends Traced {
  command: unknown;
  args: unknown;
}

export const syncProcessChannel = tracingChannel('express-hindsight:child_process:sync');

export const childProcessPatch: LibraryPatch = {
  name: 'node:child_process',
  patch(exports) {
    const undo = allOf(
      ...['spawnSync', 'execFileSync', 'execSync'].map((name) =>
        publishCalls(exports, name, syncProcessChannel, (_exports, [command, args]): RanSync => ({
          command,
          args: name === 'execSync' ? [] : args,
        })),
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
