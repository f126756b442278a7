/** `mongodb`, by the channel of channels/mongodb.ts. */
import { type MongodbCommand, mongodbChannels } from './channels/mongodb.ts';
import type { Driver } from './drivers.ts';
import { commandText, isAsked } from './mongodb-text.ts';

/** A response: of driver 6.8 and later without its document, which is read only where the application does. */
interface Response {
  batchSize?: unknown;
  getNumber?: (name: string) => unknown;
  n?: unknown;
  cursor?: { firstBatch?: unknown; nextBatch?: unknown };
}

function rowsOf(result: unknown): number | null {
  try {
    const response = (result ?? {}) as Response;
    if (typeof response.batchSize === 'number') return response.batchSize;
    const count = typeof response.getNumber === 'function' ? response.getNumber('n') : response.n;
    if (typeof count === 'number') return count;
    const batch = response.cursor?.firstBatch ?? response.cursor?.nextBatch;
    return Array.isArray(batch) ? batch.length : null;
  } catch {
    return null;
  }
}

export const mongodbDriver: Driver<MongodbCommand> = {
  system: 'mongodb',
  library: 'mongodb',
  query: mongodbChannels.command,
  describe({ command, connection }) {
    if (!isAsked(command)) return null;
    const { text, values } = commandText(command);
    return { sql: text, bindings: values, connection };
  },
  outcome: ({ result, error }) => ({ rows: rowsOf(result), error }),
};
