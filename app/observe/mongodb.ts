/** `mongodb` -> facts `query`, by the channel of channels/mongodb.ts. */
import type { ContextTracker } from '../profiler/context.ts';
import { type MongodbCommand, mongodbChannels } from './channels/mongodb.ts';
import { commandText, isAsked } from './mongodb-text.ts';
import type { QueryRecorder, RunningQuery } from './queries.ts';
import { closing, subscribeToCalls } from './subscribe.ts';

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

export function observeMongodb({ tracker, queries }: { tracker: ContextTracker; queries: QueryRecorder }): {
  close(): void;
} {
  const running = new WeakMap<MongodbCommand, RunningQuery>();

  function end(message: MongodbCommand): void {
    const query = running.get(message);
    if (query === undefined) return;
    running.delete(message);
    queries.end(query, { rows: rowsOf(message.result), error: message.error });
  }

  return closing([
    subscribeToCalls<MongodbCommand>(mongodbChannels.command, {
      start(message) {
        const { command, connection } = message;
        if (tracker.current() === undefined || !isAsked(command)) return;
        const { text, values } = commandText(command);
        const query = queries.start({
          system: 'mongodb',
          sql: text,
          bindings: values,
          connection,
          library: 'mongodb',
        });
        if (query !== null) running.set(message, query);
      },
      asyncStart: end,
    }),
    tracker.follow(
      mongodbChannels.command.asyncStart,
      (message) => running.get(message as MongodbCommand)?.context,
    ),
  ]);
}
